// SPDX-License-Identifier: BSD-3-Clause
// The waits of all ranks of a job at one moment, reported by themselves or observed by their hosts.
// Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/waits/waits.h"

namespace torusmp::job {

using core::Rank;
using core::Waits;

struct RankState {
    enum class Kind : std::uint8_t {
        answered,   // `waits` has the details
        computes,   // uses its core, and is not in a call of the library
        sleeps,     // outside the library; `where`: the system call
        stopped,    // by a signal
        traced,     // held by a debugger
        device,     // waits for a device, uninterruptibly
        outside,    // has not joined the job, because MPI_Init has not been called
        meeting,    // waits for all others at the start of the job
        finalized,  // has left the job
        ended,      // the process is gone
        silent      // nothing is known
    };
    Kind kind = Kind::silent;
    std::optional<Waits> waits;
    std::string where;

    bool in_call() const { return waits && !waits->calls.empty(); }
    // It will never send anything again.
    bool gone() const { return kind == Kind::finalized || kind == Kind::ended; }
};

using Snapshot = std::vector<RankState>;  // by rank

}  // namespace torusmp::job

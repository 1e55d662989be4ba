// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of a job wait for at one moment, as they say it themselves or as their hosts see
// them. Plain values.
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
        answered,   // `waits` says the rest
        computes,   // uses its core, and is in no call of the library
        sleeps,     // outside the library; `where`: the system call
        stopped,    // by a signal
        traced,     // a debugger holds it
        device,     // waits for a device, uninterruptibly
        outside,    // has not joined the job: MPI_Init has not been called
        meeting,    // waits for all others where the job begins
        finalized,  // has left the job
        ended,      // the process is gone
        silent      // nothing is known
    };
    Kind kind = Kind::silent;
    std::optional<Waits> waits;
    std::string where;

    bool in_call() const { return waits && !waits->calls.empty(); }
    // Nobody will ever hear of it again.
    bool gone() const { return kind == Kind::finalized || kind == Kind::ended; }
};

using Snapshot = std::vector<RankState>;  // by rank

}  // namespace torusmp::job

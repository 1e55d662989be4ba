// SPDX-License-Identifier: BSD-3-Clause
// Detects whether other processes want our core, from the time this thread was ready to run without
// one. Ranks that share cores without knowing of each other (several nodes of a torus on one
// machine, other users' jobs) learn in this way that polling only keeps their peers from answering.
//
// The length of a wait does not show this: a peer that sleeps itself, or is just late, takes as
// long. Used by the one thread that sleeps for a Runtime.
#pragma once

#include <cstdint>

#include "base/descriptor.h"

namespace torusmp::core {

class CpuContention {
  public:
    // Called after a sleep. Returns true if the result of present() may have changed.
    bool slept() { return ++sleeps_ % sleeps_per_look == 0 && look(); }
    bool present() const { return present_; }

  private:
    static constexpr unsigned sleeps_per_look = 32;
    bool look();

    base::Descriptor file_;  // the kernel's account of this thread's waits for a core
    unsigned sleeps_ = 0;
    std::uint64_t waited_ = 0;  // ns
    unsigned calm_ = 0;         // samples since the last that found contention
    bool present_ = false;
};

}  // namespace torusmp::core

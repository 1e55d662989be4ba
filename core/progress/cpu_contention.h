// SPDX-License-Identifier: BSD-3-Clause
// Whether other processes want our core, judged by how long this thread was ready without one.
// Ranks that share cores without knowing of each other (several nodes of a torus on one machine,
// other people's jobs) find out in this way that polling only keeps the peers from answering.
//
// How long a wait lasts says nothing: a peer that sleeps itself, or is just late, takes as long.
// Used by the one thread that sleeps for a Runtime.
#pragma once

#include <cstdint>

#include "base/descriptor.h"

namespace torusmp::core {

class CpuContention {
  public:
    // After a sleep. True: the answer of present() may have changed.
    bool slept() { return ++sleeps_ % sleeps_per_look == 0 && look(); }
    bool present() const { return present_; }

  private:
    static constexpr unsigned sleeps_per_look = 32;
    bool look();

    base::Descriptor file_;  // the kernel's account of this thread's waits for a core
    unsigned sleeps_ = 0;
    std::uint64_t waited_ = 0;  // ns
    unsigned calm_ = 0;         // looks since the last that found contention
    bool present_ = false;
};

}  // namespace torusmp::core

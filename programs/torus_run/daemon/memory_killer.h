// SPDX-License-Identifier: BSD-3-Clause
// Finds out whether the kernel killed a process because memory ran out, in a control group with a
// limit or on the whole host. The kernel's log names the process if this user may read it;
// otherwise a counter of the control group, or of the host, shows that a process was killed.
//
// Owned by LocalRanks and used by its one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/descriptor.h"

namespace torusmp::torus_run {

class MemoryKiller {
  public:
    // Ignores earlier kills. `root` is the folder that contains /proc, /sys and /dev.
    explicit MemoryKiller(std::filesystem::path root = "/");

    // Call when a process has ended by SIGKILL. Returns a clause with advice that follows "was
    // killed by SIGKILL (Killed)" in a message; empty if the kernel killed no process because
    // memory ran out. `memory` is the peak resident size of the process in bytes; 0 if unknown.
    std::string describe(pid_t process, std::uint64_t memory);

  private:
    std::uint64_t count() const;
    bool log_names(pid_t process);
    std::string limit() const;

    const std::filesystem::path root_;
    std::filesystem::path counter_;  // the file with the line "oom_kill N"
    bool of_this_group_ = false;     // else for the whole host
    std::uint64_t counted_ = 0;      // kills that are already explained
    base::Descriptor log_;
    std::string log_text_;
};

}  // namespace torusmp::torus_run

// SPDX-License-Identifier: BSD-3-Clause
// Programs of another MPI: each of their processes does not find its own launcher and silently
// takes itself for the only rank. The libraries they load give them away.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

namespace torusmp::launch {

// The library of another MPI that a program file asks the loader for, as "libmpi.so.40 of Open
// MPI"; nothing where there is none.
std::optional<std::string> mpi_needed_by(const std::string& program);
// The same, of what a process or one that it has started has loaded by now.
std::optional<std::string> mpi_loaded_by(pid_t process);

// Looks for one among the ranks of a host while nobody has connected. When a process has ended it
// is too late to see what it had loaded, and at its start too early; so it looks now and then, less
// and less often, and in the end into the program file. Found once, then over.
class MpiSearch {
  public:
    using Clock = std::chrono::steady_clock;

    void begin() { next_ = Clock::now() + pause_; }
    void end() { next_.reset(); }
    std::optional<Clock::time_point> next_look() const { return next_; }

    std::optional<std::string> look(Clock::time_point now, pid_t process);
    std::optional<std::string> look_at_file(const std::string& program);

  private:
    std::optional<std::string> found(std::optional<std::string> library);

    std::optional<Clock::time_point> next_;  // nothing: not looking
    std::chrono::milliseconds pause_{100};
    std::string seen_;  // the last file examined
};

}  // namespace torusmp::launch

// SPDX-License-Identifier: BSD-3-Clause
// Recognizes programs linked with another MPI. Each of their processes fails to find the launcher
// of that MPI and silently runs as the only rank. The libraries that they load reveal them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

namespace torusmp::torus_run {

// Returns the library of another MPI that a program file asks the loader for, for example
// "libmpi.so.40 of Open MPI"; nothing if there is none.
std::optional<std::string> mpi_needed_by(const std::string& program);
// As mpi_needed_by(), for the libraries that a process or one of its descendants has loaded so far.
std::optional<std::string> mpi_loaded_by(pid_t process);

// Searches the ranks of a host for another MPI while no rank has connected. At the start of a
// process its libraries are not loaded yet, and after its end they are gone; so the search samples
// a running process at growing intervals, and finally reads the program file. It stops at the first
// find.
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

    std::optional<Clock::time_point> next_;  // nullopt if not searching
    std::chrono::milliseconds pause_{100};
    std::string seen_;  // the last file examined
};

}  // namespace torusmp::torus_run

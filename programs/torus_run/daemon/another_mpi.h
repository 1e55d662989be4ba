// Programs of another MPI: each of their processes finds no launcher of its own and takes itself
// for the only rank, without a word. What they load gives them away.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

namespace torusmp::launch {

// The library of another MPI, as "libmpi.so.40 of Open MPI": nothing where there is none.
//
// What a program file asks the loader for by itself.
std::optional<std::string> mpi_needed_by(const std::string& program);
// What a process, or one that it has started, has in memory by now.
std::optional<std::string> mpi_loaded_by(pid_t process);

// Looks for one among the ranks of a host while nobody has connected. At the end of a process it is
// too late to see what it has loaded, and early it has not: so now and then, ever less often, and
// at the end into the file. Found once it is over.
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
    std::string seen_;  // the last file that was looked at
};

}  // namespace torusmp::launch

// SPDX-License-Identifier: BSD-3-Clause
// The accesses of this rank to a window since they were last ordered, for the setting mpi.check: it
// finds those that conflict (MPI-5.0, section 12.7), and prints the first of them.
//
// Accesses of one origin are compared when they are made, those of several origins at
// MPI_Win_fence. Stores of the target's program cannot be seen, and accumulates do not conflict
// with each other, because they are atomic whatever their operations. Any thread may note accesses.
#pragma once

#include <mutex>
#include <vector>

#include "core/rma/operation.h"
#include "mpi11/mpi.h"

namespace torusmp::mpi {

class Window;

class AccessLog {
  public:
    explicit AccessLog(Window& window);

    void note(const char* call, core::rma::Action action, int target,
              const core::rma::Place& place);
    // The accesses to a target, or to all (-1), are complete.
    void clear(int target);
    // Collective: compares the accesses of all origins, and clears them.
    void compare_all(const char* call);

  private:
    enum class Kind : std::uint8_t { get, put, accumulate };
    // One stretch of memory of a target.
    struct Range {
        std::uint64_t begin, end;  // as offsets in the window
        int target, origin;
        Kind kind;
    };
    static bool conflict(const Range& a, const Range& b);
    void report(const char* call, const Range& first, const Range& second);

    Window& window_;
    std::mutex mutex_;
    std::vector<Range> ranges_;
    bool reported_ = false;
};

}  // namespace torusmp::mpi

// SPDX-License-Identifier: BSD-3-Clause
// A progress line on a terminal: the current step, the share done and the remaining time. It is
// overwritten with each step and cleared at the end.
//
// One object per measurement on every rank; at most one of the ranks displays it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace torusmp::bench {

class Progress {
  public:
    explicit Progress(bool shown) : shown_(shown) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();

    // Announces this many steps of about equal length.
    void expect(std::size_t steps);
    // Begins the next step, for example "4 KiB, 2-D". `steps` is its length.
    void step(const std::string& name, std::size_t steps = 1);
    // Clears the line, before other text is printed.
    void clear();

  private:
    using Clock = std::chrono::steady_clock;

    bool shown_;
    std::size_t steps_ = 1, begun_ = 0;
    Clock::time_point start_ = Clock::now();
};

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
// What is being measured, how far that is and how long the rest will take: a line on a terminal,
// overwritten each time and cleared at the end.
//
// One for a measurement; every rank has one, and at most one of them shows anything.
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

    // So many steps, each about as long as the others, are ahead.
    void expect(std::size_t steps);
    // The next one begins: "4 KiB, 2-D". steps: as many of them as it is long.
    void step(const std::string& name, std::size_t steps = 1);
    // Makes room for a line of text.
    void clear();

  private:
    using Clock = std::chrono::steady_clock;

    bool shown_;
    std::size_t steps_ = 1, begun_ = 0;
    Clock::time_point start_ = Clock::now();
};

}  // namespace torusmp::bench

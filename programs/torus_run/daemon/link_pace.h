// SPDX-License-Identifier: BSD-3-Clause
// Which links of a host are much slower than its others, from what its kernel has sent over them
// while a job runs: how many bytes in how much of the time in which there were any to send. A
// program that sends little, or a receiver that does not listen, makes no link slow.
//
// Pure bookkeeping, of a daemon.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace torusmp::launch {

class LinkPace {
  public:
    struct Sent {
        std::uint64_t bytes = 0;
        std::chrono::microseconds busy{};  // there were bytes to send, and room for them
    };

    // What was sent by each device during one interval. By device, a clause for each that has been
    // slow for several intervals, once: "sends 3.1 MB/s over eth1, 118 MB/s over its other links".
    std::map<std::string, std::string> add(const std::map<std::string, Sent>& sent,
                                           std::chrono::microseconds interval);

  private:
    std::map<std::string, int> slow_for_;  // intervals, one after the other
    std::set<std::string> told_;
};

}  // namespace torusmp::launch

// SPDX-License-Identifier: BSD-3-Clause
// Finds the links of a host that are much slower than its other links, from what the kernel has
// sent over them during a job: bytes per time during which there was data to send. Neither a
// program that sends little nor a receiver that does not read makes a link slow.
//
// Pure bookkeeping; used by one daemon.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace torusmp::torus_run {

class LinkPace {
  public:
    struct Sent {
        std::uint64_t bytes = 0;
        // time with data to send and room in the receiver's window
        std::chrono::microseconds busy{};
    };

    // Adds the amounts that each device sent during one interval. Returns, by device and once for
    // each, a clause for devices that have been slow for several intervals: "sends 3.1 MB/s over
    // eth1, 118 MB/s over its other links".
    std::map<std::string, std::string> add(const std::map<std::string, Sent>& sent,
                                           std::chrono::microseconds interval);

  private:
    std::map<std::string, int> slow_for_;  // consecutive intervals
    std::set<std::string> reported_;
};

}  // namespace torusmp::torus_run

// SPDX-License-Identifier: BSD-3-Clause
// Watches what the kernel counts on the links of this host while a job runs: packets that a cable
// has damaged, and packets that were dropped. Each link is told of once in a job.
//
// Owned by a daemon and used by its one thread; only look() asks the kernel.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/link_counters.h"
#include "config/settings.h"
#include "programs/torus_run/monitor/records.h"

namespace torusmp::launch {

class LinkWatch {
  public:
    using Clock = std::chrono::steady_clock;

    explicit LinkWatch(std::vector<std::string> devices) : devices_(std::move(devices)) {}
    // The links of a node of these settings; none if the file names none.
    LinkWatch(const config::Settings& settings, int node);

    // What is new, if it is time to look: clauses like "12 rx_errors in 81733 packets on eth1". A
    // kernel that does not answer is no news.
    std::vector<std::string> look(Clock::time_point now);
    // The same for what the kernel has counted by now.
    // For those who watch the job: what each device has counted since it was first looked at.
    void add_devices(Sample& sample);
    std::vector<std::string> compare(const std::map<std::string, base::LinkCounters>& now);

  private:
    std::vector<std::string> devices_;
    std::vector<DeviceRecord> watched_;  // by link, with what does not change
    std::map<std::string, base::LinkCounters> first_;
    std::map<std::string, base::LinkCounters> before_;
    std::set<std::string> told_;
    Clock::time_point next_{};
};

}  // namespace torusmp::launch

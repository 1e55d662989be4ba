// SPDX-License-Identifier: BSD-3-Clause
// Watches what the kernel counts on the links of this host while a job runs: packets that a cable
// has damaged, packets that were dropped, and how fast TCP connections are served. Each link is
// told of once in a job for each of the two.
//
// Owned by a daemon and used by its one thread; only look() asks the kernel.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/link_counters.h"
#include "base/tcp_traffic.h"
#include "config/settings.h"
#include "programs/torus_run/daemon/link_pace.h"
#include "programs/torus_run/monitor/records.h"
#include "programs/torus_run/streams/messages.h"

namespace torusmp::launch {

class LinkWatch {
  public:
    using Clock = std::chrono::steady_clock;

    explicit LinkWatch(std::vector<std::string> devices) : devices_(std::move(devices)) {}
    // The links of a node of these settings; none if the file names none.
    LinkWatch(const config::Settings& settings, int node);

    // What is new of the kernel, if it is time to look: "counts 12 rx_errors in 81733 packets on
    // eth1". A kernel that does not answer is no news.
    std::vector<LinkTrouble> look(Clock::time_point now);
    // For those who watch the job: what each device has counted since it was first looked at.
    void add_devices(Sample& sample);
    // The same as look() for what the kernel has counted by now.
    std::vector<LinkTrouble> compare(const std::map<std::string, base::LinkCounters>& now);
    // And for connections that it has by now, `interval` after those of the last call. indices: of
    // the devices.
    std::vector<LinkTrouble> compare(const std::vector<base::TcpTraffic>& now,
                                     const std::map<std::string, unsigned>& indices,
                                     std::chrono::microseconds interval);

  private:
    std::vector<std::string> devices_;
    std::vector<DeviceRecord> watched_;  // by link, with what does not change
    std::map<std::string, base::LinkCounters> first_;
    std::map<std::string, base::LinkCounters> before_;
    std::set<std::string> told_;
    std::map<std::uint64_t, base::TcpTraffic> connections_;  // at the last look, by number
    bool looked_ = false;
    LinkPace pace_;
    Clock::time_point next_{};
    Clock::time_point last_{};
};

}  // namespace torusmp::launch

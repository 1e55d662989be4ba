// SPDX-License-Identifier: BSD-3-Clause
// Watches the kernel's counters for the links of this host during a job: damaged packets, dropped
// and retransmitted packets, and the speed of TCP connections. Each kind of trouble is reported
// once for each link.
//
// Owned by a daemon and used by its one thread. Only look() reads from the kernel.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/link_counters.h"
#include "base/tcp_traffic.h"
#include "config/settings.h"
#include "programs/torus_run/daemon/link_loss.h"
#include "programs/torus_run/daemon/link_pace.h"
#include "programs/torus_run/monitor/rank_pages.h"
#include "programs/torus_run/monitor/records.h"
#include "programs/torus_run/streams/messages.h"

namespace torusmp::torus_run {

class LinkWatch {
  public:
    using Clock = std::chrono::steady_clock;

    explicit LinkWatch(std::vector<std::string> devices) : devices_(std::move(devices)) {}
    // Watches the links of a node of these settings; none if the file names none.
    LinkWatch(const config::Settings& settings, int node);

    // Returns new troubles if a check is due, for example "counts 12 rx_errors in 81733 packets on
    // eth1". Errors of the kernel's interface are ignored. `ranks` are those of this host, or null.
    std::vector<LinkTrouble> look(Clock::time_point now, const RankPages* ranks);
    // Adds to a sample for observers what each device has counted since the first check.
    void add_devices(Sample& sample);
    // As look(), for the counters in `now`.
    std::vector<LinkTrouble> compare(const std::map<std::string, base::LinkCounters>& now);
    // As look(), for the connections in `now`, sampled `interval` after the last call. `indices`
    // are the interface indices of the devices.
    std::vector<LinkTrouble> compare(const std::vector<base::TcpTraffic>& now,
                                     const std::map<std::string, unsigned>& indices,
                                     std::chrono::microseconds interval);

  private:
    std::map<std::string, unsigned> device_indices() const;
    void look_at_connections(Clock::time_point now, bool at_pace, std::vector<LinkTrouble>& news);
    void look_at_frames(const RankPages& ranks, std::vector<LinkTrouble>& news);

    std::vector<std::string> devices_;
    std::vector<DeviceRecord> watched_;  // by link, without the counters
    std::map<std::string, base::LinkCounters> first_;
    std::map<std::string, base::LinkCounters> before_;
    std::set<std::string> reported_;
    std::map<std::uint64_t, base::TcpTraffic> connections_;  // at the last check, by number
    bool sampled_ = false;
    LinkPace pace_;
    LinkLoss loss_{"sent"};                // of TCP, by the sender's kernel
    LinkLoss loss_of_frames_{"received"};  // by the receiving ranks
    Clock::time_point next_{};
    Clock::time_point next_for_loss_{};
    Clock::time_point last_{};
};

}  // namespace torusmp::torus_run

// SPDX-License-Identifier: BSD-3-Clause
// Probes one device of this host: announces it to the far end of its cable, and records the
// stations that are heard on it.
//
// Owned by the probe and used by its one thread.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "config/network.h"
#include "programs/torus_check/protocol.h"

namespace torusmp::torus_check {

class DeviceProbe {
  public:
    // `sends` means that it sends in rounds for all devices of the job. `job` must outlive this.
    DeviceProbe(const config::Device& device, const Job& job, bool sends);

    const config::Device& device() const { return device_; }
    // To be watched for packets that arrive.
    std::vector<int> sockets() const;

    void begin(const Round& round);
    bool done() const { return !sending_ || !sent_.trouble.empty() || next_ == total(); }
    // Sends one probe, unless the device is busy.
    void send();
    // Receives everything that has arrived.
    void receive();
    // Adds the packets sent and received in this round.
    void add_to(ProbeReport& report) const;

    // The source address of a far end's packets; nothing if none has been received.
    std::optional<sockaddr_storage> address_of(int node, const std::string& device) const;

  private:
    using FarEnd = std::pair<int, std::string>;  // node and device

    int total() const { return round_.small + round_.large; }
    std::size_t large_payload() const;
    ssize_t transmit(std::span<const std::byte> bytes) const;
    bool receive_one(int socket);
    void note_overflow(int socket, msghdr& message);
    void note(const Identity& identity, const sockaddr_storage& from);

    config::Device device_;
    const Job& job_;
    bool sends_;
    bool by_v6_ = false;
    base::Descriptor v6_, v4_;
    Round round_;
    bool sending_ = false;
    int next_ = 0;
    std::optional<std::chrono::steady_clock::time_point> blocked_since_;
    Sent sent_;
    std::map<int, int> overflow_, overflow_before_;  // by socket; before this round
    std::map<FarEnd, sockaddr_storage> addresses_;
    std::map<FarEnd, std::map<int, std::set<int>>> heard_;  // by round
};

}  // namespace torusmp::torus_check

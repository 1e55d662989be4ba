// SPDX-License-Identifier: BSD-3-Clause
// Detects links of a host that lose packets: from the retransmissions of its kernel while a job
// runs, or from what a rank received only after a retransmission by its own transport. Messages
// still arrive, but each loss delays them by up to a fifth of a second or more.
//
// A full-duplex Ethernet cable loses one packet in millions, so a few per hundred are a fault of
// the cable, a plug or a device. Packets that a dead cable did not carry are not counted: silence
// is another fault.
//
// Pure bookkeeping; owned by a daemon.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/tcp_traffic.h"

namespace torusmp::torus_run {

class LinkLoss {
  public:
    // Fewer lost packets are not reported.
    static constexpr std::int64_t fewest_lost = 12;
    // Reported if at least one packet in this many is lost.
    static constexpr std::int64_t most_packets_for_one = 50;

    // `way` is the direction of the counted packets, the literal "sent" or "received".
    explicit LinkLoss(std::string_view way) : way_(way) {}

    // Adds the current counts of all connections of the host. `indices` are those of the devices of
    // links. Returns, by device, a clause for each that has begun to lose packets, once: "4.1 % of
    // the packets ... (12 of 290)".
    std::map<std::string, std::string> add(const std::vector<base::TcpTraffic>& now,
                                           const std::map<std::string, unsigned>& indices);

  private:
    struct Counted {
        std::uint32_t packets = 0, lost = 0;
    };
    // `lost` falls when the other end reports that a retransmission was not necessary; the packet
    // may have been counted in the window before.
    struct Window {
        std::int64_t packets = 0, lost = 0;
    };

    std::string_view way_;
    std::map<std::uint64_t, Counted> before_;  // by connection
    std::map<unsigned, Window> window_;        // by device
    std::set<std::string> reported_;
    bool sampled_ = false;
};

}  // namespace torusmp::torus_run

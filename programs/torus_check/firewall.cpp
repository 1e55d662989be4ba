// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/firewall.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace torusmp::torus_check {

namespace {

constexpr int fewest = 8;  // packets that other programs send on an idle cable meanwhile

// The least that a device has sent in the round.
int probes_of(const std::vector<ProbeReport>& reports) {
    int least = std::numeric_limits<int>::max();
    for (const ProbeReport& report : reports)
        for (const Sent& sent : report.sent)
            if (sent.small + sent.large > 0) least = std::min(least, sent.small + sent.large);
    return least;
}

}  // namespace

std::vector<std::set<std::string>> blocked_devices(const std::vector<ProbeReport>& before,
                                                   const std::vector<ProbeReport>& after) {
    const int probes = probes_of(after);
    std::vector<std::set<std::string>> blocked(after.size());
    for (std::size_t node = 0; node < after.size() && node < before.size(); ++node) {
        std::map<std::string, base::LinkCounters> first;
        for (const Counted& counted : before[node].counted)
            first.emplace(counted.device, counted.counters);
        for (const Counted& counted : after[node].counted) {
            const auto known = first.find(counted.device);
            const auto is_this = [&](const auto& it) { return it.device == counted.device; };
            const bool tested =
                std::any_of(after[node].sent.begin(), after[node].sent.end(), is_this);
            const bool heard =
                std::any_of(after[node].heard.begin(), after[node].heard.end(), is_this);
            if (heard || !tested || known == first.end()) continue;
            const auto arrived =
                counted.counters.since(known->second)[base::LinkCounters::rx_packets];
            if (arrived >= std::uint32_t(std::max(fewest, probes / 2)))
                blocked[node].insert(counted.device);
        }
    }
    return blocked;
}

std::string describe_block(const std::string& host, const std::string& device) {
    return fmt::format(
        "Packets arrive at {} {}, but its kernel does not deliver them: a firewall of {} seems to "
        "block UDP. {}",
        host, device, host, advise_firewall(device));
}

std::string advise_firewall(const std::string& device) {
    return fmt::format(
        "Allow all packets on {} there, for example with \"iptables -I INPUT -i {} -j ACCEPT\" and "
        "the same with ip6tables",
        device, device.substr(0, device.find(' ')));
}

}  // namespace torusmp::torus_check

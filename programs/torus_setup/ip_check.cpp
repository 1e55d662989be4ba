// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_setup/ip_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "config/geometry.h"

namespace torusmp::torus_setup {

namespace {

constexpr std::size_t most_ways = 16;  // of a host, so that the check is short

std::string advice(const config::NodePlan& relay) {
    std::vector<std::string> commands;
    for (const config::PlannedLink& link : relay.links)
        commands.push_back(fmt::format("iptables -I FORWARD -i {} -j ACCEPT", link.device));
    return fmt::format("Allow it there, now and after each reboot: \"{}\"",
                       fmt::join(commands, "; "));
}

}  // namespace

IpCheck::IpCheck(const config::Settings& settings, const std::vector<config::NodePlan>& plans)
    : settings_(settings), plans_(plans), ways_(plans.size()) {
    const routing::Torus torus = *node_torus(settings);
    for (const config::NodePlan& plan : plans)
        for (const config::NodePlan& other : plans) {
            auto& ways = ways_[std::size_t(plan.node)];
            if (torus.distance(plan.node, other.node) != 2 || ways.size() == most_ways) continue;
            const auto hop = torus.next_hop(plan.node, other.node);
            ways.push_back({hop->rank, other.node, other.address.text()});
        }
}

std::vector<std::string> IpCheck::calls() const {
    std::vector<std::string> calls;
    for (const auto& ways : ways_) {
        std::string call = "reach";
        for (const Way& way : ways) call += " " + way.address;
        calls.push_back(call + "\nforwarding");
    }
    return calls;
}

std::vector<std::string> IpCheck::troubles(const std::vector<Reply>& replies) const {
    const auto said = [&](int node, const std::string& line) {
        const auto& lines = replies[std::size_t(node)].lines;
        return std::find(lines.begin(), lines.end(), line) != lines.end();
    };
    std::map<int, std::pair<int, int>> lost;  // relay -> the first pair that it separates
    const routing::Torus torus = *node_torus(settings_);
    for (int node = 0; node < int(ways_.size()); ++node)
        for (const Way& way : ways_[std::size_t(node)]) {
            if (!said(node, "silent " + way.address)) continue;
            // The answer may take another way, and be what is dropped.
            const int back = torus.next_hop(way.to, node)->rank;
            const bool answer = !said(way.over, "drops forwarded") && said(back, "drops forwarded");
            lost.insert({answer ? back : way.over, {node, way.to}});
        }
    std::vector<std::string> lines;
    const auto& hosts = host_names(settings_);
    for (const auto& [relay, pair] : lost) {
        const bool drops = said(relay, "drops forwarded");
        const std::string& host = hosts[std::size_t(relay)];
        lines.push_back(fmt::format(
            "IP from {} to {} does not arrive: {}. {}", hosts[std::size_t(pair.first)],
            hosts[std::size_t(pair.second)],
            drops ? fmt::format("a firewall of {}, between them, drops forwarded packets (policy "
                                "of the chain FORWARD; Docker sets it)",
                                host)
                  : fmt::format("{}, between them, does not forward packets, or {} rejects them",
                                host, hosts[std::size_t(pair.second)]),
            drops ? advice(plans_[std::size_t(relay)])
                  : std::string("Programs that torus-run starts do not need it")));
    }
    return lines;
}

}  // namespace torusmp::torus_setup

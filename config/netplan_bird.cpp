// SPDX-License-Identifier: BSD-3-Clause
// The address plan as the configuration of BIRD, which keeps the routes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/assert.h"
#include "config/netplan.h"
#include "config/network.h"

namespace torusmp::config {

namespace {

// 4-byte numbers for private use begin here (RFC 6996).
std::uint32_t autonomous_system(int node) {
    return 4200000000U + std::uint32_t(node);
}

// Instead of 179, so that a BGP daemon that the host runs for other networks is not disturbed.
constexpr int bgp_port = 1790;

// TCP doubles its pause between two attempts, so it may find a new path only after twice the time
// that the path was gone. From 50 ms on, one dead cable (0.4 s) costs a connection 0.75 s, and it
// flows again before the next cable dies; the kernel's own 200 ms are for paths through the world.
constexpr int shortest_retry_ms = 50;

std::vector<std::string> quoted_devices(const NodePlan& plan) {
    std::vector<std::string> devices;
    for (const PlannedLink& link : plan.links)
        devices.push_back(fmt::format("\"{}\"", link.device));
    return devices;
}

}  // namespace

std::string as_bird(const NodePlan& plan) {
    TORUSMP_ASSERT(!plan.dynamic.empty());
    std::vector<std::string> networks;
    for (const base::Address& network : plan.dynamic)
        networks.push_back(network.with_prefix() + "+");
    const auto devices = quoted_devices(plan);
    // A dead cable whose ends keep their carriers is found after 4 intervals of BFD.
    std::string out = fmt::format(
        "# Routes of the torus, by torus-info netplan.\n"
        "router id {0};\n"
        "log stderr {{ error, bug }};\n"
        "define torus = [ {1} ];\n\n"
        "protocol device {{}}\n"
        "protocol direct {{\n  ipv4;\n  interface \"lo\"{2}{3};\n}}\n"
        "protocol kernel {{\n  merge paths yes;\n  ipv4 {{\n    import none;\n"
        "    export filter {{\n      if source != RTS_BGP then reject;\n"
        "      krt_prefsrc = {0};\n"
        "      krt_rto_min = {4};\n      krt_lock_rto_min = true;\n"
        "      accept;\n    }};\n  }};\n}}\n",
        plan.address.text(), fmt::join(networks, ", "), devices.empty() ? "" : ", ",
        fmt::join(devices, ", "), shortest_retry_ms);
    if (plan.links.empty()) return out;
    out += fmt::format(
        "protocol bfd {{\n  interface {} {{\n    interval 100 ms;\n    multiplier 4;\n  }};\n}}\n"
        "template bgp cable {{\n  bfd yes;\n  hold time 9;\n  connect delay time 1;\n"
        "  connect retry time 1;\n  error wait time 1, 1;\n  ipv4 {{\n"
        "    import where net ~ torus;\n    export where net ~ torus;\n  }};\n}}\n",
        fmt::join(devices, ", "));
    for (std::size_t i = 0; i < plan.links.size(); ++i) {
        const PlannedLink& link = plan.links[i];
        out += fmt::format(
            "protocol bgp link{} from cable {{  # to node {}\n  interface \"{}\";\n"
            "  local {} port {} as {};\n  neighbor {} port {} as {};\n}}\n",
            i, link.neighbour, link.device, link.own.text(), bgp_port, autonomous_system(plan.node),
            link.peer.text(), bgp_port, autonomous_system(link.neighbour));
    }
    return out;
}

}  // namespace torusmp::config

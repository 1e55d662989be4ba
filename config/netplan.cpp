// SPDX-License-Identifier: BSD-3-Clause
#include "config/netplan.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "base/address.h"
#include "config/geometry.h"
#include "routing/pair_path.h"

namespace torusmp::config {

namespace {

using routing::Direction;
using routing::Torus;

std::uint32_t to_number(const base::Address& address) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) number = number << 8 | address.bytes[i];
    return number;
}

base::Address address_at(const base::Address& network, std::uint32_t offset, int prefix) {
    base::Address address;
    const std::uint32_t mask = network.prefix == 0 ? 0 : ~std::uint32_t(0) << (32 - network.prefix);
    std::uint32_t number = (to_number(network) & mask) + offset;
    for (std::size_t i = 4; i-- > 0; number >>= 8) address.bytes[i] = std::uint8_t(number);
    address.prefix = prefix;
    return address;
}

std::uint64_t room(const base::Address& network) {
    return std::uint64_t(1) << (32 - network.prefix);
}

Torus torus_of(const Settings& settings) {
    const auto torus = node_torus(settings);
    if (!torus)
        throw ConfigError(
            "missing torus: give a geometry file with --config, or --torus and the devices, for "
            "example --set links=0+=eth1,0-=eth2");
    return *torus;
}

void check_room(const Torus& torus, const NetplanOptions& options) {
    const auto cables = std::uint64_t(torus.size()) * std::uint64_t(torus.link_dimensions());
    if (4 * cables > room(options.cables))
        throw ConfigError(fmt::format(
            "the network {} has {} addresses, but {} needs {} for its cables: expected "
            "a larger network of cables",
            options.cables.with_prefix(), room(options.cables), torus.describe(), 4 * cables));
    // The first and the last address of a network cannot be assigned to hosts.
    if (std::uint64_t(torus.size()) + 2 > room(options.nodes))
        throw ConfigError(fmt::format(
            "the network {} has {} addresses, but {} needs {}, one per node: expected a "
            "larger network of nodes",
            options.nodes.with_prefix(), room(options.nodes), torus.describe(), torus.size() + 2));
}

base::Address node_address(const NetplanOptions& options, int node) {
    return address_at(options.nodes, std::uint32_t(node) + 1, 32);
}

// A cable is numbered by the node at its minus end and its dimension; dimensions of size 1 are not
// counted.
std::uint32_t cable_number(const Torus& torus, int node, int dimension) {
    std::uint32_t wired = 0, before = 0;
    for (int d = 0; d < torus.link_dimensions(); ++d) {
        if (torus.graph() == nullptr && torus.extent(d) == 1) continue;
        if (d < dimension) ++before;
        ++wired;
    }
    return std::uint32_t(node) * wired + before;
}

// The addresses of a node's end of a cable, and of the other end.
std::pair<base::Address, base::Address> cable_addresses(const Torus& torus,
                                                        const NetplanOptions& options, int node,
                                                        Direction direction) {
    const bool lower = direction.sign > 0;
    const int owner = lower ? node : *torus.neighbour(node, direction);
    const std::uint32_t base = 4 * cable_number(torus, owner, direction.dimension);
    return {address_at(options.cables, base + (lower ? 1 : 2), 30),
            address_at(options.cables, base + (lower ? 2 : 1), 30)};
}

PlannedLink plan_link(const Settings& settings, const Torus& torus, const NetplanOptions& options,
                      int node, Direction direction) {
    PlannedLink link{direction,
                     link_device(settings, node, direction),
                     *torus.neighbour(node, direction),
                     {},
                     {}};
    if (link.device.empty())
        throw ConfigError(
            fmt::format("{}node {} has a link {}, but [links] has no device for it: expected "
                        "\"{}\" = \"(device)\"",
                        settings.origin(setting::links).where.empty()
                            ? std::string()
                            : settings.origin(setting::links).where + ": ",
                        node, direction_name(direction), direction_name(direction)));
    std::tie(link.own, link.peer) = cable_addresses(torus, options, node, direction);
    return link;
}

const PlannedLink& link_of(const NodePlan& plan, Direction direction) {
    for (const PlannedLink& link : plan.links)
        if (link.direction == direction) return link;
    throw std::logic_error("a path uses a link that the node does not have");
}

// Routes to the addresses of another node's links; the far ends of the node's own cables need none.
void plan_ways_into(NodePlan& plan, const Torus& torus, const NetplanOptions& options, int target) {
    for (int i = 0; i < 2 * torus.link_dimensions(); ++i) {
        const Direction entrance = Direction::from_index(i);
        const auto before = torus.neighbour(target, entrance);
        if (!before || *before == plan.node) continue;
        base::Address to = cable_addresses(torus, options, target, entrance).first;
        to.prefix = 32;
        const PlannedLink& link =
            link_of(plan, routing::next_hop_into(torus, plan.node, target, entrance).direction);
        plan.routes.push_back({to, link.peer, link.device});
    }
}

}  // namespace

NetplanOptions default_netplan() {
    return {*base::parse_address("10.0.0.0/9"), *base::parse_address("10.255.0.0/16")};
}

NodePlan plan_node(const Settings& settings, int node, const NetplanOptions& options) {
    const Torus torus = torus_of(settings);
    check_room(torus, options);
    NodePlan plan;
    plan.node = node;
    if (!host_names(settings).empty()) plan.host = host_names(settings)[std::size_t(node)];
    plan.address = node_address(options, node);
    plan.mtu = options.mtu;
    for (int i = 0; i < 2 * torus.link_dimensions(); ++i)
        if (const Direction direction = Direction::from_index(i); torus.neighbour(node, direction))
            plan.links.push_back(plan_link(settings, torus, options, node, direction));
    if (options.dynamic) {
        plan.dynamic = {address_at(options.cables, 0, options.cables.prefix),
                        address_at(options.nodes, 0, options.nodes.prefix)};
        return plan;
    }
    for (int target = 0; target < torus.size(); ++target) {
        const auto hop = torus.next_hop(node, target);
        if (!hop) continue;
        const PlannedLink& link = link_of(plan, hop->direction);
        plan.routes.push_back({node_address(options, target), link.peer, link.device});
        if (options.to_links) plan_ways_into(plan, torus, options, target);
    }
    return plan;
}

namespace {

constexpr std::string_view hosts_begin =
    "# torusmp: addresses of the torus, by torus-info netplan\n";
constexpr std::string_view hosts_end = "# torusmp: end\n";

}  // namespace

std::string as_hosts(const std::vector<NodePlan>& plans) {
    std::string out(hosts_begin);
    for (const NodePlan& plan : plans) {
        if (plan.host.empty())
            throw ConfigError("the nodes have no names for /etc/hosts: expected nodes.hosts");
        out += fmt::format("{} {}\n", plan.address.text(), plan.host);
    }
    return out += hosts_end;
}

std::string with_hosts(std::string_view file, const std::string& block) {
    std::string out(file);
    if (!out.empty() && out.back() != '\n') out += '\n';
    const std::size_t begin = out.find(hosts_begin);
    if (begin == std::string::npos) return out + block;
    const std::size_t end = out.find(hosts_end, begin);
    if (end == std::string::npos)
        throw ConfigError(
            fmt::format("the block that begins with \"{}\" has no end: expected \"{}\"",
                        hosts_begin.substr(0, hosts_begin.size() - 1),
                        hosts_end.substr(0, hosts_end.size() - 1)));
    return out.replace(begin, end + hosts_end.size() - begin, block);
}

std::vector<std::pair<std::string, std::string>> planned_sysctls(const NodePlan& plan) {
    std::vector<std::pair<std::string, std::string>> sysctls{{"net.ipv4.ip_forward", "1"}};
    // A name that contains dots is written with slashes; sysctl.d converts slashes to dots and vice
    // versa.
    // The devices of twins hear each other's ARP requests: each answers only for its own address.
    for (const PlannedLink& link : plan.links) {
        sysctls.emplace_back(fmt::format("net/ipv4/conf/{}/rp_filter", link.device), "2");
        sysctls.emplace_back(fmt::format("net/ipv4/conf/{}/arp_ignore", link.device), "1");
    }
    // Spreads the streams between two nodes over equal paths.
    if (!plan.dynamic.empty()) sysctls.emplace_back("net.ipv4.fib_multipath_hash_policy", "1");
    return sysctls;
}

std::string as_ip_batch(const NodePlan& plan) {
    std::string out;
    for (const auto& [name, value] : planned_sysctls(plan))
        out += fmt::format("# sysctl -w {}={}\n", name, value);
    out += fmt::format("addr replace {} dev lo label {}\n", plan.address.with_prefix(), node_label);
    for (const PlannedLink& link : plan.links) {
        out += fmt::format("link set dev {}{} up\n", link.device,
                           plan.mtu ? fmt::format(" mtu {}", *plan.mtu) : "");
        out += as_ip_batch(plan, link.device);
    }
    return out;
}

std::string as_ip_batch(const NodePlan& plan, const std::string& device) {
    std::string out;
    for (const base::Address& network : plan.dynamic)
        out +=
            fmt::format("route flush root {} dev {} proto boot\n", network.with_prefix(), device);
    for (const PlannedLink& link : plan.links)
        if (link.device == device)
            out += fmt::format("addr replace {} dev {}\n", link.own.with_prefix(), device);
    for (const PlannedRoute& route : plan.routes)
        if (route.device == device)
            out += fmt::format("route replace {} via {} dev {} src {}\n", route.to.with_prefix(),
                               route.via.text(), device, plan.address.text());
    return out;
}

}  // namespace torusmp::config

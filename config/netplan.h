// SPDX-License-Identifier: BSD-3-Clause
// The address plan of a switchless cluster: a small network for each cable, an address for each
// node, and routes to every node along shortest-direction-first paths, so that the kernels of the
// nodes in between forward packets on the same paths as the runtime's relay. If a transport needs
// it, there are also routes to the addresses of all links: a queue pair lives on one device, and
// RoCE packets must leave and arrive through it (routing/pair_path.h).
//
// Fixed routes die with their cable. Alternatively the routing daemon BIRD keeps the routes: it
// finds all shortest paths over the cables that work now, and the plan contains its configuration.
//
// Pure functions of the settings; any thread may call.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "config/network.h"
#include "config/settings.h"

namespace torusmp::config {

// The label of the address of a node. Programs that expect the name of a device, such as Gloo, find
// the address under this name.
inline constexpr std::string_view node_label = "lo:torus";

struct NetplanOptions {
    base::Address cables;      // the network of the cables, which take four addresses each
    base::Address nodes;       // the network of the nodes' own addresses
    std::optional<int> mtu{};  // of the links; empty if unchanged
    bool to_links = true;      // whether there are also routes to the addresses of other nodes'
                               // links
    bool dynamic = false;      // BIRD keeps the routes; the plan has no fixed ones
};
// Cables from 10.0.0.0/9, nodes from 10.255.0.0/16.
NetplanOptions default_netplan();

struct PlannedLink {
    routing::Direction direction;
    std::string device;
    int neighbour = 0;        // node at the other end
    base::Address own, peer;  // /30
};

struct PlannedRoute {
    base::Address to;  // another node's own address, or an address of one of its links
    base::Address via;
    std::string device;
};

struct NodePlan {
    int node = 0;
    std::string host;       // empty if hosts have no names
    base::Address address;  // /32, on the loopback device, under the name node_label
    std::vector<PlannedLink> links;
    std::vector<PlannedRoute> routes;
    std::optional<int> mtu;
    // Networks whose routes BIRD keeps, of the cables and of the nodes; empty if routes are fixed.
    std::vector<base::Address> dynamic;
};

// Throws ConfigError if no torus is set, a link has no device, or a network is too small.
NodePlan plan_node(const Settings& settings, int node,
                   const NetplanOptions& options = default_netplan());

// Lines for `ip -batch -`; they replace existing entries, so they can be applied repeatedly. Values
// that `ip` cannot set (forwarding, reverse path filters) are written as comments.
// With dynamic routes they also remove the fixed routes over the links, which would take
// precedence.
std::string as_ip_batch(const NodePlan& plan);
// Only the entries that the kernel drops when that device goes down: the address of the link and
// the routes over it.
std::string as_ip_batch(const NodePlan& plan, const std::string& device);

struct PlannedFile {
    std::string path;  // "/etc/systemd/network/05-torus-eth1.network"
    std::string text;
    unsigned mode = 0644;
};
// The configuration of BIRD 2 for dynamic routes: a BGP session over each cable between nodes that
// are autonomous systems of their own (as in RFC 7938), watched by BFD. Requires plan.dynamic.
std::string as_bird(const NodePlan& plan);

// For systemd-networkd 252 and later.
std::vector<PlannedFile> as_networkd(const NodePlan& plan);
// For Debian's ifupdown, whose /etc/network/interfaces includes interfaces.d.
std::vector<PlannedFile> as_ifupdown(const NodePlan& plan);
// For Ubuntu's netplan.
std::vector<PlannedFile> as_netplan(const NodePlan& plan);
// Keyfiles of NetworkManager 1.42 and later, which keeps addresses of the loopback device, but not
// their labels.
std::vector<PlannedFile> as_keyfiles(const NodePlan& plan);

// A service that sets up the network of a host when it starts.
struct NetplanFormat {
    std::string_view name;
    std::vector<PlannedFile> (*files)(const NodePlan& plan);
};
inline constexpr NetplanFormat netplan_formats[] = {{"networkd", as_networkd},
                                                    {"ifupdown", as_ifupdown},
                                                    {"netplan", as_netplan},
                                                    {"networkmanager", as_keyfiles}};
// Returns null if the format is unknown.
const NetplanFormat* find_netplan_format(std::string_view name);

// Lines of /etc/hosts for all of these nodes, between two comments that mark them as a block.
// Throws ConfigError if nodes have no names.
std::string as_hosts(const std::vector<NodePlan>& plans);
// The file with this block in place of its existing block; if there is none, the block is appended.
std::string with_hosts(std::string_view file, const std::string& block);

// Hostfiles of other launchers, from the plans of all nodes.
// For the ring of mlx.launch: the next host is a neighbour where possible, and each host listens at
// its end of the cable from the host before it, or at its own address if there is no such cable.
std::string as_mlx(const std::vector<NodePlan>& plans);
// The command to run on each host for torchrun.
std::string as_torchrun(const std::vector<NodePlan>& plans);

// Sysctl names and values: forwarding, and reverse path filters that allow the return path to
// differ from the forward path, as it does on SDF paths.
std::vector<std::pair<std::string, std::string>> planned_sysctls(const NodePlan& plan);

}  // namespace torusmp::config

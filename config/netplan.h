// The address plan of a switchless cluster: a small network for each cable, an address for each
// node, and routes to every node along shortest-direction-first paths, so that the kernels of the
// nodes in between forward as the runtime's own relay would. Where a transport wants it there are
// routes to the addresses of all links too: a queue pair lives on one device, and RoCE packets must
// leave and arrive by it (routing/pair_path.h).
//
// Pure functions of the settings; any thread may call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "config/network.h"
#include "config/settings.h"

namespace torusmp::config {

struct NetplanOptions {
    base::Address cables;      // the network that the cables' are cut from, four addresses each
    base::Address nodes;       // the network of the nodes' own addresses
    std::optional<int> mtu{};  // of the links; nothing: as it is
    bool to_links = true;      // whether others are reached at the addresses of their links too
};
// Cables from 10.0.0.0/9, nodes from 10.255.0.0/16.
NetplanOptions default_netplan();

struct PlannedLink {
    routing::Direction direction;
    std::string device;
    base::Address own, peer;  // /30
};

struct PlannedRoute {
    base::Address to;  // another node's own address, or one of its links'
    base::Address via;
    std::string device;
};

struct NodePlan {
    int node = 0;
    std::string host;       // empty: hosts are not named
    base::Address address;  // /32, on the loopback device
    std::vector<PlannedLink> links;
    std::vector<PlannedRoute> routes;
    std::optional<int> mtu;
};

// Throws ConfigError where no torus is set, a link has no device, or a network is too small.
NodePlan plan_node(const Settings& settings, int node,
                   const NetplanOptions& options = default_netplan());

// Lines for `ip -batch -`; they replace what is there, so they can be given again. What `ip` cannot
// set (forwarding, reverse path filters) stands in comments.
std::string as_ip_batch(const NodePlan& plan);

struct PlannedFile {
    std::string path;  // "/etc/systemd/network/50-torus-eth1.network"
    std::string text;
};
// For systemd-networkd 252 and later.
std::vector<PlannedFile> as_networkd(const NodePlan& plan);

// Sysctl names and values: forwarding, and reverse path filters that allow a way back other than
// the way there, as SDF paths have it.
std::vector<std::pair<std::string, std::string>> planned_sysctls(const NodePlan& plan);

}  // namespace torusmp::config

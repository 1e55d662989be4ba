// SPDX-License-Identifier: BSD-3-Clause
// The machine as described by the settings: the torus of nodes, the ranks in each node, the hosts
// and the devices of their links. config itself owns these settings, since everything else in the
// geometry file is checked against them.
//
// Pure functions; any thread may call.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "routing/torus.h"

namespace torusmp::config {

// The largest torus: a larger size is a typing error, and would waste memory.
inline constexpr int max_ranks = 1 << 20;

// One name for each node, in rank order. Without names, everything runs on this host.
struct Hosts {
    std::vector<std::string> names;
    // The pattern that produced the names ("qcd{0}{1}{2}"); empty if they were listed, or there are
    // none.
    std::string pattern;

    friend bool operator==(const Hosts&, const Hosts&) = default;
};

// Hosts that a job leaves free: by name, or a number of them.
struct Spares {
    int count = 0;
    std::vector<std::string> names;  // empty for any hosts

    friend bool operator==(const Spares&, const Spares&) = default;
};

using Links = std::map<std::string, std::string>;  // name of a direction ("0+") -> device
using HostLinks = std::map<std::string, Links>;    // host -> links of its own

// Cables that form another graph than a torus, each named by its ends.
struct Cables {
    struct End {
        std::string host, device;
        friend bool operator==(const End&, const End&) = default;
        friend auto operator<=>(const End&, const End&) = default;
    };
    struct Cable {
        End one, other;
        friend bool operator==(const Cable&, const Cable&) = default;
    };
    std::vector<Cable> list;
    // The graph of the nodes, whose cables are in the order of the list. Null while the hosts are
    // unknown, and if the list is empty.
    std::shared_ptr<const routing::Graph> nodes;

    friend bool operator==(const Cables& a, const Cables& b) { return a.list == b.list; }
};

// How ranks without a direct link are reached.
enum class Forward { relay, kernel, automatic };

Type<std::vector<int>> extents_type(std::string_view accepts);
Type<std::vector<bool>> periodic_type();
Type<Cables> cables_type();
Type<Hosts> hosts_type();
Type<Spares> spares_type();
Type<Links> links_type();
Type<HostLinks> host_links_type();
Type<Forward> forward_type();

namespace setting {

inline const Setting<std::vector<int>> dims{
    "torus.dims",
    extents_type("1 to 6 sizes of 1 or more, like [4, 8, 8] or 4x8x8"),
    {},
    "Number of nodes along each dimension. Ranks are numbered row by row, the last dimension "
    "fastest. If it is not set, the ranks of this host form a balanced torus. The option --torus "
    "sets it, too.",
    {.unset = "balanced over the ranks in 3 dimensions", .example = "2x2x2"}};
inline const Setting<std::vector<bool>> periodic{
    "torus.periodic",
    periodic_type(),
    {},
    "Whether each dimension wraps around (a torus) or ends (an open mesh).",
    {.unset = "true in every dimension", .example = "true,true,false"}};
inline const Setting<std::vector<int>> ranks_per_node{
    "torus.ranks_per_node",
    extents_type("a size of 1 or more for each dimension, like [1, 1, 2]"),
    {},
    "Block of ranks inside each node. The torus of ranks has dims x ranks_per_node ranks along "
    "each "
    "dimension.",
    {.unset = "1 in every dimension", .example = "1x1x2"}};
inline const Setting<Cables> cables{
    "torus.cables",
    cables_type(),
    {},
    "Cables between the hosts, if they do not form a torus: any connected graph. It takes the "
    "place "
    "of torus.dims and [links]; torus-check --discover writes it.",
    {.unset = "the cables of the torus", .example = "a eth0 - b eth0,a eth1 - c eth0"}};
inline const Setting<Hosts> hosts{
    "nodes.hosts",
    hosts_type(),
    {},
    "Hosts of the torus: a list in rank order, or a pattern in which {0} stands for the coordinate "
    "in dimension 0 and {0:02} for the same with two digits.",
    {.unset = "every rank on this host", .example = "node{0}-{1}"}};
inline const Setting<Spares> spares{
    "nodes.spares",
    spares_type(),
    {},
    "Hosts of nodes.hosts that a job leaves free, so that a restart can use them in place of hosts "
    "that died (torus-run --restart-on-death): their number, or their names. The option --spares "
    "sets it, too.",
    {.unset = "none", .example = "2"}};
inline const Setting<Links> links{
    "links",
    links_type(),
    {},
    "Network device of the cable in each direction of a node. A direction is a dimension followed "
    "by + or -. In the file this is the table [links].",
    {.unset = "none: no cable leaves a node",
     .example = "0+=enp1s0f0,0-=enp1s0f1",
     .in_file = "the table [links]"}};
inline const Setting<HostLinks> host_links{
    "links.hosts",
    host_links_type(),
    {},
    "Devices of single hosts that differ from [links]. In the file each such host has a table "
    "[links.\"host\"].",
    {.unset = "none: all hosts are cabled alike",
     .example = "qcd000/0+=enp2s0f0",
     .in_file = "a table [links.\"host\"] for each host"}};
inline const Setting<Forward> forward{
    "routing.forward", forward_type(), Forward::relay,
    "How messages reach a rank that is neither on this host nor a neighbour. relay: the ranks in "
    "between forward packets. kernel: the kernels forward them by existing IP routes, or a switch "
    "does. auto: relay, but kernels forward small messages where routes work "
    "(torus-info netplan plans routes)."};

inline const Table table{&dims,   &periodic, &ranks_per_node, &cables, &hosts,
                         &spares, &links,    &host_links,     &forward};

}  // namespace setting

// Names are used in ssh commands and file names, so they may only contain the characters of host
// names and addresses.
bool legal_host_name(std::string_view name);

// The names of the hosts by node; empty if everything runs on this host.
const std::vector<std::string>& host_names(const Settings& settings);

// The torus of ranks: nodes x the block inside each node; if no dims are set, a balanced torus of
// `ranks`. Throws ConfigError if the product is not `ranks`.
routing::Torus rank_torus(const Settings& settings, int ranks);
// The torus of nodes; empty if no dims are set.
std::optional<routing::Torus> node_torus(const Settings& settings);
// The device of a cable of torus.cables, whose graph is known; empty if there is none.
std::string end_of_cable(const Settings& settings, int node, routing::Direction direction);
// The product of ranks_per_node.
int ranks_on_a_node(const Settings& settings);
// The node of a rank, as its number in the torus of nodes (the index of its host in host_names()).
// Precondition: dims are set and `rank` is a rank of the torus.
int node_of(const Settings& settings, routing::Rank rank);

}  // namespace torusmp::config

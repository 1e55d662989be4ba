// SPDX-License-Identifier: BSD-3-Clause
// Cables between nodes, as named in messages and as checked by transports. Plain values and
// functions; any thread may call.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/network.h"
#include "config/settings.h"
#include "routing/detours.h"
#include "routing/torus.h"

namespace torusmp::config {

struct CableEnd {
    int node = 0;
    routing::Direction direction;      // in which the cable leaves the node
    const HostFacts* facts = nullptr;  // of its host; null if not known
};

std::string host_of(const Settings& settings, const CableEnd& end);
std::string device_of(const Settings& settings, const CableEnd& end);
// "enp1s0f1 of qcd011"
std::string describe_end(const Settings& settings, const CableEnd& end);
// "link 0+ of qcd010 to qcd011 (enp1s0f0 to enp1s0f1)"
std::string describe_link(const Settings& settings, const CableEnd& one, const CableEnd& other);

// Cables are links of the torus of nodes. `ranks` is rank_torus(). Precondition of the functions
// below: the settings have a torus.

// The links between ranks that these cables carry.
std::vector<routing::Link> links_over(const Settings& settings, const routing::Torus& ranks,
                                      std::span<const routing::Link> cables);
// The cable that carries a link; empty if the link stays inside a node.
std::optional<routing::Link> cable_under(const Settings& settings, const routing::Torus& ranks,
                                         routing::Rank rank, routing::Direction direction);
// The cable plugged into a device of a node; empty if there is none.
std::optional<routing::Link> cable_at(const Settings& settings, int node, std::string_view device);
// The nodes on a path of ranks, in order.
std::vector<int> nodes_along(const Settings& settings, routing::Rank from,
                             std::span<const routing::Hop> way);

// "qcd010 enp1s0f0 (0+) to qcd011 enp1s0f1 (0-)"
std::string describe_cable(const Settings& settings, const routing::Link& cable);
// The nodes along a detour, both ends included: "qcd012 and qcd013", or "the other cable between
// them".
std::string describe_detour(const Settings& settings, std::span<const int> nodes);
// "qcd010 on one side, qcd011, qcd012 and 5 more on the other"
std::string describe_parts(const Settings& settings, const routing::Parts& parts);

}  // namespace torusmp::config

// SPDX-License-Identifier: BSD-3-Clause
#include "config/box.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "config/geometry.h"
#include "config/geometry_text.h"
#include "config/network.h"

namespace torusmp::config {

namespace {

bool is_ring(const Settings& settings, std::size_t dimension) {
    return settings[setting::periodic].empty() || settings[setting::periodic][dimension];
}

routing::Coordinates coordinates_in(const std::vector<int>& extents, int place) {
    routing::Coordinates coordinates{};
    for (std::size_t d = extents.size(); d-- > 0; place /= extents[d])
        coordinates[d] = place % extents[d];
    return coordinates;
}

// The node at a place of the box, both counted row by row.
int node_in(const std::vector<int>& dims, const Box& box, int place) {
    const routing::Coordinates at = coordinates_in(box.extents, place);
    int node = 0;
    for (std::size_t d = 0; d < dims.size(); ++d)
        node = node * dims[d] + (box.start[d] + at[d]) % dims[d];
    return node;
}

// The links of the box in a table. `has` returns whether the host has a link in that direction.
Links links_in(const Links& links, const std::function<bool(routing::Direction)>& has) {
    Links kept;
    for (int i = 0; i < 2 * routing::max_dimensions; ++i) {
        const auto direction = routing::Direction::from_index(i);
        const auto found = links.find(direction_name(direction));
        if (found != links.end() && has(direction)) kept.insert(*found);
    }
    return kept;
}

void list_extents(const std::vector<int>& dims, int nodes, std::vector<int>& some,
                  std::vector<std::vector<int>>& all) {
    if (some.size() == dims.size()) {
        if (nodes == 1) all.push_back(some);
        return;
    }
    for (int extent = 1; extent <= std::min(dims[some.size()], nodes); ++extent) {
        if (nodes % extent != 0) continue;
        some.push_back(extent);
        list_extents(dims, nodes / extent, some, all);
        some.pop_back();
    }
}

}  // namespace

std::vector<std::vector<int>> extents_of(const std::vector<int>& dims, int nodes) {
    std::vector<std::vector<int>> all;
    std::vector<int> some;
    list_extents(dims, nodes, some, all);
    return all;
}

std::vector<int> nodes_of(const std::vector<int>& dims, const Box& box) {
    std::vector<int> nodes(std::size_t(product(box.extents)));
    for (std::size_t place = 0; place < nodes.size(); ++place)
        nodes[place] = node_in(dims, box, int(place));
    return nodes;
}

void keep_box(Settings& settings, const Box& box, const std::string& why) {
    const std::vector<int> dims = settings[setting::dims];
    const Origin origin{Origin::Kind::flag, why};
    std::vector<bool> periodic;
    for (std::size_t d = 0; d < dims.size(); ++d)
        periodic.push_back(is_ring(settings, d) && box.extents[d] == dims[d]);
    const routing::Torus torus(box.extents, periodic);
    Hosts hosts;
    HostLinks own;
    for (int place = 0; place < torus.size(); ++place) {
        const std::string& host = host_names(settings)[std::size_t(node_in(dims, box, place))];
        hosts.names.push_back(host);
        const auto found = settings[setting::host_links].find(host);
        if (found == settings[setting::host_links].end()) continue;
        Links links = links_in(found->second, [&](routing::Direction direction) {
            return torus.neighbour(place, direction).has_value();
        });
        if (!links.empty()) own[host] = std::move(links);
    }
    Links common = links_in(settings[setting::links], [&](routing::Direction direction) {
        return box.extents[std::size_t(direction.dimension)] > 1;
    });
    settings.set(setting::dims, box.extents, origin);
    settings.set(setting::periodic, periodic, origin);
    settings.set(setting::hosts, std::move(hosts), origin);
    const Origin no_links = common.empty() ? Origin() : origin;
    settings.set(setting::links, std::move(common), no_links);
    const Origin no_own = own.empty() ? Origin() : origin;
    settings.set(setting::host_links, std::move(own), no_own);
}

}  // namespace torusmp::config

// SPDX-License-Identifier: BSD-3-Clause
#include "config/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "config/check.h"
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

// Leaves only these hosts of a graph, in the order of the file.
void keep_hosts(Settings& settings, const std::vector<std::string>& names, const std::string& why) {
    const auto kept = [&](const std::string& host) {
        return std::find(names.begin(), names.end(), host) != names.end();
    };
    const Origin origin{Origin::Kind::flag, why};
    Hosts hosts = settings[setting::hosts];
    std::erase_if(hosts.names, [&](const std::string& host) { return !kept(host); });
    Cables cables = settings[setting::cables];
    cables.nodes = nullptr;
    std::erase_if(cables.list, [&](const Cables::Cable& cable) {
        return !kept(cable.one.host) || !kept(cable.other.host);
    });
    const bool alone = hosts.names.size() == 1;
    settings.set(setting::hosts, std::move(hosts), origin);
    settings.set(setting::dims, {int(names.size())}, origin);
    settings.set(setting::cables, std::move(cables), alone ? Origin() : origin);
    if (settings[setting::cables].list.empty() && !alone)
        throw ConfigError(fmt::format("{}: no cable joins {}", why, base::listed(names)));
    complete(settings, {});
}

}  // namespace

void keep_box(Settings& settings, const Box& box, const std::string& why) {
    const std::vector<int> dims = settings[setting::dims];
    if (settings[setting::cables].nodes) {
        std::vector<std::string> names;
        for (int place = 0; place < box.extents[0]; ++place)
            names.push_back(host_names(settings)[std::size_t(box.start[0] + place)]);
        return keep_hosts(settings, names, why);
    }
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

void set_ranks_per_host(Settings& settings, int ranks, const std::string& why) {
    if (ranks == ranks_on_a_node(settings)) return;
    std::vector<int> block(settings[setting::dims].size(), 1);
    block.back() = ranks;
    settings.set(setting::ranks_per_node, std::move(block), {Origin::Kind::flag, why});
}

namespace {

// ---- A number of nodes ----

// Whether the box has the nodes that are numbered first.
bool comes_first(const std::vector<int>& dims, const std::vector<int>& extents) {
    std::size_t d = 0;
    while (d < dims.size() && extents[d] == 1) ++d;
    return d == dims.size() || std::equal(dims.begin() + std::ptrdiff_t(d) + 1, dims.end(),
                                          extents.begin() + std::ptrdiff_t(d) + 1);
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

namespace {

std::optional<Box> box_of(const std::vector<int>& dims, int nodes) {
    const std::vector<std::vector<int>> all = extents_of(dims, nodes);
    if (all.empty()) return std::nullopt;
    const auto rank = [&](const std::vector<int>& extents) {
        int sum = 0;
        for (const int extent : extents) sum += extent;
        return std::pair(!comes_first(dims, extents), sum);
    };
    const auto best = std::min_element(
        all.begin(), all.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    return Box{std::vector<int>(dims.size(), 0), *best};
}

void take_nodes(Settings& settings, int nodes, const std::string& option) {
    const std::vector<int>& dims = settings[setting::dims];
    if (const auto box = box_of(dims, nodes)) return keep_box(settings, *box, option);
    int fewer = nodes, more = nodes;
    while (!box_of(dims, fewer)) --fewer;
    while (!box_of(dims, more)) ++more;
    throw ConfigError(fmt::format(
        "{} needs {} of the {} hosts, which form no box in {}: expected a number of ranks for {} "
        "or {} hosts",
        option, nodes, host_names(settings).size(), cite_dims(settings), fewer, more));
}

// ---- Named hosts ----

// The shortest arc with all coordinates that occur. In a `ring`, it may cross the end.
std::pair<int, int> arc(const std::vector<bool>& occurs, bool ring) {
    const int extent = int(occurs.size());
    const auto count = int(std::count(occurs.begin(), occurs.end(), true));
    if (count == extent) return {0, extent};
    const auto covers = [&](int start) {
        for (int i = 0; i < count; ++i)
            if (!occurs[std::size_t((start + i) % extent)]) return false;
        return true;
    };
    for (int start = 0; start < extent; ++start)
        if ((ring || start + count <= extent) && covers(start)) return {start, count};
    return {0, extent};
}

void take_hosts(Settings& settings, const std::vector<std::string>& names,
                const std::string& option) {
    if (settings[setting::cables].nodes) return keep_hosts(settings, names, option);
    const std::vector<int>& dims = settings[setting::dims];
    std::vector<std::vector<bool>> occurs;
    for (const int extent : dims) occurs.emplace_back(std::size_t(extent));
    for (const std::string& name : names) {
        const auto at = coordinates_in(dims, config::find_host(host_names(settings), name).value());
        for (std::size_t d = 0; d < dims.size(); ++d) occurs[d][std::size_t(at[d])] = true;
    }
    Box box;
    for (std::size_t d = 0; d < dims.size(); ++d) {
        const auto [start, extent] = arc(occurs[d], is_ring(settings, d));
        box.start.push_back(start);
        box.extents.push_back(extent);
    }
    if (product(box.extents) == std::int64_t(names.size())) return keep_box(settings, box, option);
    throw ConfigError(fmt::format(
        "{}: these {} hosts form no box in {}, so cables that join them lead through other hosts: "
        "expected a box of neighbours, or -np to choose one",
        option, names.size(), cite_dims(settings)));
}

// ---- Ranks on a node ----

void fit_ranks_per_host(Settings& settings, const Demand& demand) {
    const int each = demand.ranks_per_host;
    if (each == ranks_on_a_node(settings)) return;
    if (!settings[setting::ranks_per_node].empty())
        throw ConfigError(fmt::format(
            "{}: torus.ranks_per_node = {} ({}) puts {} on each host: expected both to agree; "
            "without torus.ranks_per_node, {} alone decides",
            demand.ranks_per_host_option, joined(settings[setting::ranks_per_node]),
            settings.origin(setting::ranks_per_node).where,
            plural(ranks_on_a_node(settings), "rank"), demand.ranks_per_host_option));
    set_ranks_per_host(settings, each, demand.ranks_per_host_option);
}

}  // namespace

void fit(Settings& settings, const Demand& demand) {
    if (!demand.hosts.empty() && demand.hosts.size() < host_names(settings).size())
        take_hosts(settings, demand.hosts, demand.hosts_option);
    if (demand.ranks_per_host != 0) fit_ranks_per_host(settings, demand);
    if (!demand.ranks) return;
    const int ranks = *demand.ranks, hosts = int(host_names(settings).size());
    const int each = ranks_on_a_node(settings);
    if (ranks == hosts * each) return;
    if (ranks % each == 0 && ranks / each < hosts)
        return take_nodes(settings, ranks / each, demand.ranks_option);
    if (demand.ranks_per_host != 0)
        throw ConfigError(
            ranks > hosts * each
                ? fmt::format("{} with {} needs {} hosts, but there are {}: expected at most -np "
                              "{}, or at least {} ranks on each host",
                              demand.ranks_option, demand.ranks_per_host_option,
                              (ranks + each - 1) / each, hosts, hosts * each,
                              (ranks + hosts - 1) / hosts)
                : fmt::format("{} with {}: every host of a torus has the same number of ranks, "
                              "expected -np {} or {}",
                              demand.ranks_option, demand.ranks_per_host_option,
                              std::max(ranks / each, 1) * each, (ranks / each + 1) * each));
    if (!settings[setting::ranks_per_node].empty()) return;  // rank_torus() reports the numbers
    if (ranks % hosts != 0)
        throw ConfigError(fmt::format(
            "{}: {} ranks do not fill {} hosts evenly: expected -np {} or {}, or -host "
            "with the hosts to use",
            demand.ranks_option, ranks, hosts, ranks / hosts * hosts, (ranks / hosts + 1) * hosts));
    set_ranks_per_host(settings, ranks / hosts, demand.ranks_option);
}

}  // namespace torusmp::config

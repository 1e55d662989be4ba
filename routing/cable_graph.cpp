// SPDX-License-Identifier: BSD-3-Clause
#include "routing/cable_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace torusmp::routing {

CableGraph::CableGraph(std::span<const std::string> names, std::span<const Cable> cables)
    : names_(names), cables_(cables) {
    if (names_.empty()) throw NoTorus("no nodes were given");
    collect_edges();
    measure_distances();
}

void CableGraph::check_end(const CableEnd& end, std::set<std::pair<int, int>>& used) const {
    if (end.node < 0 || std::size_t(end.node) >= nodes())
        throw NoTorus(fmt::format("a cable ends at node {}, which does not exist", end.node));
    if (!used.insert({end.node, end.port}).second)
        throw NoTorus(fmt::format("two cables end at one port of {}", name(end.node)));
}

void CableGraph::collect_edges() {
    std::map<std::pair<int, int>, std::vector<int>> between;
    std::set<std::pair<int, int>> used;
    degree_.assign(nodes(), 0);
    for (std::size_t i = 0; i < cables_.size(); ++i) {
        const Cable& cable = cables_[i];
        check_end(cable.a, used);
        check_end(cable.b, used);
        if (cable.a.node == cable.b.node)
            throw NoTorus(fmt::format("a cable joins {} to itself", name(cable.a.node)));
        ++degree_[std::size_t(cable.a.node)];
        ++degree_[std::size_t(cable.b.node)];
        between[std::minmax(cable.a.node, cable.b.node)].push_back(int(i));
    }
    around_.resize(nodes());
    for (auto& [ends, list] : between) {
        if (list.size() > 2)
            throw NoTorus(fmt::format("{} cables join {} and {}: expected at most two", list.size(),
                                      name(ends.first), name(ends.second)));
        around_[std::size_t(ends.first)].push_back(int(edges_.size()));
        around_[std::size_t(ends.second)].push_back(int(edges_.size()));
        edges_.push_back({ends.first, ends.second, std::move(list)});
    }
}

std::vector<int> CableGraph::distances_from(int start) const {
    std::vector<int> distance(nodes(), -1), queue{start};
    distance[std::size_t(start)] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i)
        for (const int number : around(queue[i])) {
            const int next = edge(number).other(queue[i]);
            if (distance[std::size_t(next)] >= 0) continue;
            distance[std::size_t(next)] = distance[std::size_t(queue[i])] + 1;
            queue.push_back(next);
        }
    return distance;
}

void CableGraph::measure_distances() {
    for (std::size_t node = 0; node < nodes(); ++node) {
        distance_.push_back(distances_from(int(node)));
        if (node > 0) continue;
        const auto apart = std::find(distance_[0].begin(), distance_[0].end(), -1);
        if (apart != distance_[0].end())
            throw NoTorus(fmt::format("no cables connect {} to {}: the machine is split", name(0),
                                      name(int(apart - distance_[0].begin()))));
    }
}

int CableGraph::edge_between(int a, int b) const {
    for (const int number : around(a))
        if (edge(number).other(a) == b) return number;
    throw std::logic_error("neighbours without an edge");
}

std::string CableGraph::uneven() const {
    std::map<int, int> count;
    for (const int degree : degree_) ++count[degree];
    const auto usual =
        std::max_element(count.begin(), count.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    std::vector<std::string> odd;
    for (std::size_t i = 0; i < nodes(); ++i)
        if (degree_[i] != usual->first && odd.size() < 8)
            odd.push_back(fmt::format("{} ({})", name(int(i)), degree_[i]));
    const bool most_agree = !odd.empty() && usual->second * 2 > int(nodes());
    if (most_agree)
        return fmt::format("{} nodes have {} cables, but {} not: is a cable missing or dead?",
                           usual->second, usual->first, fmt::join(odd, ", "));
    return "they do not form a product of rings and lines. Is a cable missing, or are two "
           "exchanged?";
}

}  // namespace torusmp::routing

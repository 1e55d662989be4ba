// SPDX-License-Identifier: BSD-3-Clause
// Placement of graphs on the machine. A graph that is itself a grid or torus is laid out as one;
// any other grows from vertex 0, each vertex next to those it exchanges most data with, and is then
// improved by exchanges.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "routing/box.h"
#include "routing/placement.h"
#include "routing/recognize.h"

namespace torusmp::routing {
namespace {

using Ranks = std::vector<Rank>;

// Bounds on the work, in distances examined, and on the graphs that are tried as tori.
constexpr std::int64_t most_looks = 40'000'000;
constexpr std::size_t most_cables = 3000;

struct Neighbour {
    int vertex;
    std::int64_t weight;
};
using Adjacency = std::vector<std::vector<Neighbour>>;

Adjacency adjacency_of(int vertices, std::span<const Traffic> edges) {
    Adjacency adjacency(static_cast<std::size_t>(vertices));
    for (const Traffic& edge : edges) {
        if (edge.a == edge.b || edge.weight == 0) continue;
        adjacency[std::size_t(edge.a)].push_back({edge.b, edge.weight});
        adjacency[std::size_t(edge.b)].push_back({edge.a, edge.weight});
    }
    return adjacency;
}

// Hops between a vertex on `at` and its neighbours; neighbours without a rank do not count.
std::int64_t pull(const std::vector<Neighbour>& neighbours, Rank at, const Ranks& ranks,
                  const Torus& machine) {
    std::int64_t sum = 0;
    for (const Neighbour& neighbour : neighbours) {
        const Rank rank = ranks[std::size_t(neighbour.vertex)];
        if (rank >= 0) sum += neighbour.weight * machine.distance(at, rank);
    }
    return sum;
}

// The order in which vertices are placed: the next one has the most traffic with those before it.
std::vector<int> growing_order(const Adjacency& adjacency) {
    const std::size_t n = adjacency.size();
    std::vector<std::int64_t> bond(n, 0);
    std::vector<bool> taken(n, false);
    std::vector<int> order;
    // Largest bond first, then the lowest number.
    std::set<std::pair<std::int64_t, int>> waiting;
    for (std::size_t v = 0; v < n; ++v) waiting.insert({0, int(v)});
    while (!waiting.empty()) {
        const int vertex = waiting.begin()->second;
        waiting.erase(waiting.begin());
        taken[std::size_t(vertex)] = true;
        order.push_back(vertex);
        for (const Neighbour& neighbour : adjacency[std::size_t(vertex)]) {
            const auto v = std::size_t(neighbour.vertex);
            if (taken[v]) continue;
            waiting.erase({-bond[v], neighbour.vertex});
            bond[v] += neighbour.weight;
            waiting.insert({-bond[v], neighbour.vertex});
        }
    }
    return order;
}

Ranks grow(const Adjacency& adjacency, std::span<const Rank> candidates, const Torus& machine) {
    Ranks ranks(adjacency.size(), -1);
    std::vector<Rank> open(candidates.begin(), candidates.end());
    for (const int vertex : growing_order(adjacency)) {
        const auto& neighbours = adjacency[std::size_t(vertex)];
        std::size_t best = 0;
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (std::size_t i = 0; i < open.size() && least > 0; ++i) {
            const std::int64_t hops = pull(neighbours, open[i], ranks, machine);
            if (hops >= least) continue;
            least = hops;
            best = i;
        }
        ranks[std::size_t(vertex)] = open[best];
        open.erase(open.begin() + std::ptrdiff_t(best));
    }
    return ranks;
}

// Exchanges the ranks of two vertices, or one for an unused rank, as long as the sum decreases.
void improve(Ranks& ranks, const Adjacency& adjacency, std::span<const Rank> candidates,
             const Torus& machine) {
    std::vector<Rank> spare;
    {
        Ranks sorted = ranks;
        std::sort(sorted.begin(), sorted.end());
        for (const Rank rank : candidates)
            if (!std::binary_search(sorted.begin(), sorted.end(), rank)) spare.push_back(rank);
    }
    const int n = int(ranks.size());
    std::int64_t looks = most_looks;
    const auto cost = [&](int vertex) {
        const auto& neighbours = adjacency[std::size_t(vertex)];
        looks -= std::int64_t(neighbours.size()) + 1;
        return pull(neighbours, ranks[std::size_t(vertex)], ranks, machine);
    };
    for (bool moved = true; moved && looks > 0;) {
        moved = false;
        for (int a = 0; a < n && looks > 0; ++a) {
            for (int b = a + 1; b < n; ++b) {
                const std::int64_t before = cost(a) + cost(b);
                std::swap(ranks[std::size_t(a)], ranks[std::size_t(b)]);
                if (cost(a) + cost(b) < before)
                    moved = true;
                else
                    std::swap(ranks[std::size_t(a)], ranks[std::size_t(b)]);
            }
            for (Rank& other : spare) {
                const std::int64_t before = cost(a);
                std::swap(ranks[std::size_t(a)], other);
                if (cost(a) < before)
                    moved = true;
                else
                    std::swap(ranks[std::size_t(a)], other);
            }
        }
    }
}

// The graph laid out by the embedding, if it is a torus. Empty if it is not, or if the candidates
// do not form a box for it.
std::optional<Ranks> as_torus(const Adjacency& adjacency, std::span<const Rank> candidates,
                              const Torus& machine) {
    if (!box_of(machine, candidates)) return std::nullopt;
    std::vector<Cable> cables;
    std::vector<std::string> names;
    for (std::size_t v = 0; v < adjacency.size(); ++v) {
        names.push_back(std::to_string(v));
        std::set<int> others;
        for (const Neighbour& neighbour : adjacency[v]) others.insert(neighbour.vertex);
        if (others.empty() || others.size() > 2 * max_dimensions) return std::nullopt;
        for (const int other : others)
            if (other > int(v))
                cables.push_back({{int(v), int(cables.size())}, {other, int(cables.size())}});
        if (cables.size() > most_cables) return std::nullopt;
    }
    const Recognition recognition = recognize_torus(names, cables);
    if (!recognition.found) return std::nullopt;
    const Torus& torus = recognition.found->torus;
    Grid grid;
    for (int d = 0; d < torus.dimensions(); ++d) {
        grid.extents.push_back(torus.extent(d));
        grid.periodic.push_back(torus.periodic(d));
    }
    const Ranks placed = place_grid(grid, candidates, machine);
    Ranks ranks;
    for (const Rank place : recognition.found->rank_of) ranks.push_back(placed[std::size_t(place)]);
    return ranks;
}

}  // namespace

std::int64_t hops_of(std::span<const Traffic> edges, std::span<const Rank> ranks,
                     const Torus& machine) {
    std::int64_t sum = 0;
    for (const Traffic& edge : edges)
        sum +=
            edge.weight * machine.distance(ranks[std::size_t(edge.a)], ranks[std::size_t(edge.b)]);
    return sum;
}

Ranks place_graph(int vertices, std::span<const Traffic> edges, std::span<const Rank> candidates,
                  const Torus& machine) {
    Ranks best(candidates.begin(), candidates.begin() + vertices);
    if (vertices < 2) return best;
    const auto one_hop_each = [&](const Ranks& ranks) {
        return std::all_of(edges.begin(), edges.end(), [&](const Traffic& edge) {
            return edge.weight == 0 ||
                   machine.distance(ranks[std::size_t(edge.a)], ranks[std::size_t(edge.b)]) <= 1;
        });
    };
    if (one_hop_each(best)) return best;
    const Adjacency adjacency = adjacency_of(vertices, edges);
    std::int64_t least = hops_of(edges, best, machine);
    const auto weigh = [&](Ranks ranks) {
        const std::int64_t hops = hops_of(edges, ranks, machine);
        if (hops >= least) return;
        best = std::move(ranks);
        least = hops;
    };
    if (std::size_t(vertices) == candidates.size()) {
        if (auto found = as_torus(adjacency, candidates, machine)) weigh(std::move(*found));
        if (one_hop_each(best)) return best;
    }
    if (std::int64_t(candidates.size()) * std::int64_t(2 * edges.size()) <= most_looks) {
        weigh(grow(adjacency, candidates, machine));
        Ranks improved = best;
        improve(improved, adjacency, candidates, machine);
        weigh(std::move(improved));
    }
    return best;
}

}  // namespace torusmp::routing

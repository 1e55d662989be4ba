// SPDX-License-Identifier: BSD-3-Clause
#include "bench/predict/schedules.h"

#include <memory>
#include <vector>

#include "routing/trees.h"

namespace torusmp::bench {

namespace {

using routing::Rank;
using routing::Torus;

struct Tree {
    std::vector<Rank> parent;
    std::vector<std::vector<Rank>> children;
};

std::shared_ptr<const Tree> tree_of(const Torus& torus) {
    const auto tree = std::make_shared<Tree>();
    tree->parent = routing::dimension_ordered_tree(torus, 0).parent;
    tree->children.resize(tree->parent.size());
    for (Rank rank = 1; rank < torus.size(); ++rank)
        tree->children[std::size_t(tree->parent[std::size_t(rank)])].push_back(rank);
    return tree;
}

}  // namespace

RouteProgram tree_broadcast(const Torus& torus, std::size_t bytes) {
    return [tree = tree_of(torus), bytes](Rank rank, int step) -> std::optional<RouteStep> {
        if (rank != 0 && step-- == 0) return RouteStep{.from = tree->parent[std::size_t(rank)]};
        const auto& children = tree->children[std::size_t(rank)];
        if (step >= int(children.size())) return std::nullopt;
        return RouteStep{.to = children[std::size_t(step)], .bytes = bytes};
    };
}

RouteProgram line_sum(const Torus& torus, std::size_t bytes) {
    return [torus, bytes](Rank rank, int step) -> std::optional<RouteStep> {
        for (int d = torus.dimensions() - 1; d >= 0; --d) {
            const bool ring = torus.periodic(d);
            const int extent = torus.extent(d);
            const int rounds = ring ? extent / 2 : extent - 1;
            if (step >= 3 * rounds) {
                step -= 3 * rounds;
                continue;
            }
            // In round k, what came from one side in the previous round is sent to the other.
            const int k = step / 3 + 1;
            const int here = torus.coordinates(rank)[std::size_t(d)];
            const auto there = [&](int offset) {
                return ring || (here + offset >= 0 && here + offset < extent);
            };
            const auto neighbour = [&](int sign) {
                return torus.neighbour(rank, routing::Direction{d, sign}).value_or(-1);
            };
            const bool both_ways = !ring || 2 * k != extent;
            RouteStep it{.bytes = bytes};
            if (step % 3 == 0 && there(+1) && there(1 - k)) it.to = neighbour(+1);
            if (step % 3 == 1 && both_ways && there(-1) && there(k - 1)) it.to = neighbour(-1);
            if (step % 3 == 1 && there(-k)) it.from = neighbour(-1);
            if (step % 3 == 2 && both_ways && there(+k)) it.from = neighbour(+1);
            return it;
        }
        return std::nullopt;
    };
}

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
#include "bench/predict/schedules.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "routing/steps.h"

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

// Its steps from this one on: a message to each child.
std::optional<RouteStep> to_children(const Tree& tree, Rank rank, int step, std::size_t bytes) {
    const auto& children = tree.children[std::size_t(rank)];
    if (step >= int(children.size())) return std::nullopt;
    return RouteStep{.to = children[std::size_t(step)], .bytes = bytes};
}

}  // namespace

RouteProgram tree_broadcast(const Torus& torus, std::size_t bytes) {
    return [tree = tree_of(torus), bytes](Rank rank, int step) -> std::optional<RouteStep> {
        if (rank != 0 && step-- == 0) return RouteStep{.from = tree->parent[std::size_t(rank)]};
        return to_children(*tree, rank, step, bytes);
    };
}

RouteProgram tree_sum(const Torus& torus, std::size_t bytes) {
    return [tree = tree_of(torus), bytes](Rank rank, int step) -> std::optional<RouteStep> {
        const auto& children = tree->children[std::size_t(rank)];
        if (step < int(children.size())) return RouteStep{.from = children[std::size_t(step)]};
        step -= int(children.size());
        if (const Rank parent = tree->parent[std::size_t(rank)]; rank != 0 && step-- == 0)
            return RouteStep{.to = parent, .bytes = bytes, .from = parent};
        return to_children(*tree, rank, step, bytes);
    };
}

RouteProgram optimal_scatter(const Torus& torus, std::size_t block) {
    auto messages = routing::scatter_messages(routing::optimal_partition(torus, 0));
    // All links of the root in turns.
    std::stable_sort(messages.begin(), messages.end(), [](const auto& one, const auto& other) {
        return one.release < other.release;
    });
    const auto order = std::make_shared<const std::vector<routing::Message>>(std::move(messages));
    return [order, block](Rank rank, int step) -> std::optional<RouteStep> {
        if (rank != 0) return step == 0 ? std::optional(RouteStep{.from = 0}) : std::nullopt;
        if (step >= int(order->size())) return std::nullopt;
        const auto& path = (*order)[std::size_t(step)].path;
        return RouteStep{.to = path.back().rank, .bytes = block, .path = path.data()};
    };
}

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
#include "routing/living_paths.h"

#include "base/assert.h"

namespace torusmp::routing {

LivingPaths::LivingPaths(const Torus& torus, const std::vector<bool>& dead, Rank self)
    : number_(std::size_t(torus.size()), -1) {
    TORUSMP_ASSERT(dead.size() == number_.size() && !dead[std::size_t(self)], self, dead.size());
    const auto each_neighbour = [&](Rank rank, auto&& visit) {
        for (int i = 0; i < 2 * torus.link_dimensions(); ++i) {
            const auto direction = Direction::from_index(i);
            const auto next = torus.neighbour(rank, direction);
            if (next && !dead[std::size_t(*next)]) visit(direction, *next);
        }
    };
    std::vector<bool> reached(number_.size());
    std::vector<Rank> found{self};
    reached[std::size_t(self)] = true;
    for (std::size_t i = 0; i < found.size(); ++i)
        each_neighbour(found[i], [&](Direction, Rank next) {
            if (reached[std::size_t(next)]) return;
            reached[std::size_t(next)] = true;
            found.push_back(next);
        });
    // Numbered in the order of ranks, so that all members number them alike.
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        if (!reached[std::size_t(rank)]) continue;
        number_[std::size_t(rank)] = int(by_number_.size());
        by_number_.push_back(rank);
    }
    if (by_number_.size() == 1) return;
    std::vector<GraphCable> cables;
    for (const Rank rank : by_number_)
        each_neighbour(rank, [&](Direction direction, Rank next) {
            if (direction.sign > 0)
                cables.push_back(
                    {number_[std::size_t(rank)], direction.dimension, number_[std::size_t(next)]});
        });
    graph_.emplace(int(by_number_.size()), cables, 1);
}

std::optional<Hop> LivingPaths::next_hop(Rank from, Rank to) const {
    if (!graph_ || !joins(from, to)) return std::nullopt;
    auto hop = graph_->next_hop(number_[std::size_t(from)], number_[std::size_t(to)]);
    if (hop) hop->rank = by_number_[std::size_t(hop->rank)];
    return hop;
}

std::vector<Hop> LivingPaths::path(Rank from, Rank to) const {
    std::vector<Hop> path;
    for (auto hop = next_hop(from, to); hop; hop = next_hop(hop->rank, to)) path.push_back(*hop);
    return path;
}

}  // namespace torusmp::routing

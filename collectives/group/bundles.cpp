// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/group/bundles.h"

#include <algorithm>
#include <optional>

#include "routing/trees.h"

namespace torusmp::collectives {
namespace {

using routing::Coordinates;
using routing::Direction;
using routing::Torus;

// The trees of all origins: the path of a block to a member, and the number of steps.
class Spread {
  public:
    explicit Spread(const Torus& torus) : torus_(torus) {
        bool wraps = true;
        for (int d = 0; d < torus.dimensions(); ++d)
            wraps = wraps && (torus.periodic(d) || torus.extent(d) == 1);
        if (wraps) tree_ = routing::arc_balanced_tree(torus);
    }

    // The direction of the last step from `origin` to `to`, which differ.
    Direction by(const Coordinates& origin, const Coordinates& to) const {
        if (tree_) return Direction::from_index(tree_->by[std::size_t(moved(origin, to))]);
        const int first = sum(origin) % torus_.dimensions();
        int last = -1;
        for (int k = 0; k < torus_.dimensions(); ++k) {
            const int d = (first + k) % torus_.dimensions();
            if (origin[std::size_t(d)] != to[std::size_t(d)]) last = d;
        }
        return {last, sign(origin, to, last)};
    }

    int depth(const Coordinates& origin, const Coordinates& to) const {
        return torus_.distance(torus_.rank(origin), torus_.rank(to));
    }

  private:
    static int sum(const Coordinates& coordinates) {
        int sum = 0;
        for (const int c : coordinates) sum += c;
        return sum;
    }

    // The position of `to` relative to `origin`.
    routing::Rank moved(const Coordinates& origin, const Coordinates& to) const {
        Coordinates offset{};
        for (std::size_t d = 0; d < std::size_t(torus_.dimensions()); ++d) {
            const int extent = torus_.extent(int(d));
            offset[d] = (to[d] - origin[d] + extent) % extent;
        }
        return torus_.rank(offset);
    }

    // The sign of the shorter way round; if both are equally long, the other coordinates decide.
    int sign(const Coordinates& origin, const Coordinates& to, int d) const {
        const int steps = to[std::size_t(d)] - origin[std::size_t(d)];
        if (!torus_.periodic(d)) return steps > 0 ? +1 : -1;
        const int extent = torus_.extent(d);
        const int up = (steps + extent) % extent;
        if (2 * up != extent) return 2 * up < extent ? +1 : -1;
        const int others = sum(origin) + sum(to) - origin[std::size_t(d)] - to[std::size_t(d)];
        return others % 2 == 0 ? +1 : -1;
    }

    const Torus& torus_;
    std::optional<routing::SpanningTree> tree_;  // of rank 0; empty if dimension-ordered
};

}  // namespace

Bundles::Bundles(const Torus& torus, int me) {
    const int directions = 2 * torus.dimensions();
    for (int index = 0; index < directions; ++index)
        directions_.push_back(Direction::from_index(index));
    const Spread spread(torus);
    const Coordinates here = torus.coordinates(me);
    std::vector<Entry> out;
    std::vector<Entry> in;
    const auto list = [&](int depth, Direction direction) {
        steps_ = std::max(steps_, depth);
        return (depth - 1) * directions + direction.index();
    };
    for (int origin = 0; origin < torus.size(); ++origin) {
        const Coordinates from = torus.coordinates(origin);
        if (origin != me) {
            const Direction by = spread.by(from, here);
            in.push_back({list(spread.depth(from, here), by.opposite()), origin});
        }
        for (const Direction direction : directions_) {
            const auto neighbour = torus.neighbour(me, direction);
            if (!neighbour || *neighbour == origin) continue;
            const Coordinates there = torus.coordinates(*neighbour);
            if (spread.by(from, there) == direction)
                out.push_back({list(spread.depth(from, there), direction), origin});
        }
    }
    fill(lists_[0], out);
    fill(lists_[1], in);
}

void Bundles::fill(Lists& lists, std::vector<Entry>& entries) const {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.list < b.list; });
    lists.directions = directions_.size();
    lists.starts.assign(std::size_t(steps_) * directions_.size() + 1, 0);
    for (const Entry& entry : entries) {
        lists.origins.push_back(entry.origin);
        ++lists.starts[std::size_t(entry.list) + 1];
    }
    for (std::size_t i = 1; i < lists.starts.size(); ++i) lists.starts[i] += lists.starts[i - 1];
}

}  // namespace torusmp::collectives

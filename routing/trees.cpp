// SPDX-License-Identifier: BSD-3-Clause
#include "routing/trees.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace torusmp::routing {

namespace {

SpanningTree tree_from(Rank root, int size) {
    SpanningTree tree;
    tree.root = root;
    tree.parent.assign(std::size_t(size), root);
    tree.by.assign(std::size_t(size), -1);
    tree.depth.assign(std::size_t(size), 0);
    return tree;
}

void enter(SpanningTree& tree, const Torus& torus, Rank rank, Direction by) {
    tree.parent[std::size_t(rank)] = *torus.neighbour(rank, by.opposite());
    tree.by[std::size_t(rank)] = std::int8_t(by.index());
}

// From each rank up to the first whose depth is known, and back down.
void measure(SpanningTree& tree) {
    std::vector<Rank> path;
    std::fill(tree.depth.begin(), tree.depth.end(), -1);
    tree.depth[std::size_t(tree.root)] = 0;
    for (Rank rank = 0; rank < Rank(tree.parent.size()); ++rank) {
        Rank above = rank;
        for (; tree.depth[std::size_t(above)] < 0; above = tree.parent[std::size_t(above)]) {
            path.push_back(above);
        }
        for (int depth = tree.depth[std::size_t(above)]; !path.empty(); path.pop_back()) {
            tree.depth[std::size_t(path.back())] = ++depth;
        }
    }
}

// The disjoint trees, by a rule for each rank that needs no search.
//
// Let Z be the dimensions in which a rank differs from the root. A tree belongs to a dimension d
// and, if d is periodic, to a sign: it arrives at the root's neighbour in that direction and
// spreads from there. Seen from a rank, towards the root:
// - If d is not in Z: one step away from the root along d. The arcs along dimensions that are not
//   in Z are used only by the trees of these dimensions, each arc by one tree.
// - If d is in Z: one step along the dimension that follows d in Z, cyclically, so that d itself is
//   finished last. Each dimension of Z follows one other, so each of its arcs is used once: in a
//   periodic dimension the tree of sign + walks downwards, away from the side where the tree of
//   sign - walks upwards.
// In both cases the path ends: dimensions leave Z and never return.
//
// An open dimension has one tree and one arc from the root, a periodic dimension has two of each.
// They mix as long as the dimension after a periodic one is periodic for sign -. So sign + cycles
// through all dimensions of Z including the open ones, sign - through the periodic ones alone.
// There remain the ranks in which d is the only periodic dimension of Z but some open ones are in Z
// too (`bridge`): here (d, -) cannot yet finish d, and no arc along an open dimension is left for
// it. It walks along d, still upwards but away from the root, to the coordinate just below it, and
// there takes the arc of (d, +), which in turn goes one further along d and finishes the open ones
// there. The tree that walks downwards along d has the root's coordinate as its next one there and
// comes from it directly. This takes three places, so a ring of two is used as an open dimension.
class Arcs {
  public:
    Arcs(const Torus& torus, Rank root) : torus_(&torus), origin_(torus.coordinates(root)) {
        bool any_open = false;
        for (int d = 0; d < torus.dimensions(); ++d) {
            any_open |= torus.extent(d) > 1 && !torus.periodic(d);
        }
        for (int d = 0; d < torus.dimensions(); ++d) {
            both_[d] = torus.periodic(d) && !(any_open && torus.extent(d) == 2);
            if (torus.extent(d) == 1) continue;
            families_.push_back({d, +1});
            if (both_[d]) families_.push_back({d, -1});
        }
    }

    const std::vector<Direction>& families() const { return families_; }

    // The direction of the step by which the tree of `family` enters `rank`, which is not the root.
    Direction into(Rank rank, Direction family) const {
        const Coordinates steps = from_root(rank);
        const int d = family.dimension;
        if (steps[d] == 0) return away(rank, family);
        const int next = next_of(family, steps);
        const bool plus = family.sign > 0;
        const int bridge = lone_periodic(steps);
        if (bridge < 0 || (d != bridge && next != bridge)) return home(steps, next, family.sign);
        const bool below = steps[bridge] == torus_->extent(bridge) - 1;
        if (d != bridge) return {bridge, below ? -1 : +1};
        if (plus && below) return {bridge, +1};
        if (!plus && !below) return {bridge, -1};
        return home(steps, next_of({d, +1}, steps), +1);
    }

  private:
    // Steps from the root along each dimension: upwards round a ring, signed if open.
    Coordinates from_root(Rank rank) const {
        Coordinates steps = torus_->coordinates(rank);
        for (int d = 0; d < torus_->dimensions(); ++d) {
            steps[d] -= origin_[d];
            if (both_[d] && steps[d] < 0) steps[d] += torus_->extent(d);
        }
        return steps;
    }

    // From the rank one further from the root; in an open dimension either side works.
    Direction away(Rank rank, Direction family) const {
        const int d = family.dimension;
        if (both_[d]) return {d, -family.sign};
        return {d, torus_->coordinates(rank)[d] > 0 ? +1 : -1};
    }

    Direction home(const Coordinates& steps, int dimension, int sign) const {
        if (both_[dimension]) return {dimension, sign};
        return {dimension, steps[dimension] > 0 ? +1 : -1};
    }

    int next_of(Direction family, const Coordinates& steps) const {
        int d = family.dimension;
        do {
            d = (d + 1) % torus_->dimensions();
        } while (steps[d] == 0 || (family.sign < 0 && !both_[d]));
        return d;
    }

    // The periodic dimension of Z, if it is the only one there but not all of Z; else -1.
    int lone_periodic(const Coordinates& steps) const {
        int found = -1;
        bool open = false;
        for (int d = 0; d < torus_->dimensions(); ++d) {
            if (steps[d] == 0) continue;
            if (!both_[d]) {
                open = true;
            } else if (found >= 0) {
                return -1;
            } else {
                found = d;
            }
        }
        return open ? found : -1;
    }

    const Torus* torus_;
    Coordinates origin_;
    std::array<bool, max_dimensions> both_{};  // periodic, and both directions are used
    std::vector<Direction> families_;
};

// Makes disjoint trees lower. Two trees may exchange the arcs by which they enter a rank: they stay
// disjoint, and stay trees if neither is then entered from below that rank. Exchanges are made as
// long as the sum of the squared depths over all ranks and trees decreases.
class Lowering {
  public:
    Lowering(const Torus& torus, std::vector<SpanningTree>& trees)
        : torus_(torus),
          trees_(trees),
          below_(trees.size()),
          by_distance_(std::size_t(torus.size())) {
        const Rank root = trees.front().root;
        std::iota(by_distance_.begin(), by_distance_.end(), 0);
        std::stable_sort(by_distance_.begin(), by_distance_.end(), [&](Rank a, Rank b) {
            return torus.distance(root, a) < torus.distance(root, b);
        });
        for (std::size_t t = 0; t < trees.size(); ++t) count_below(t);
    }

    void run() {
        // Enough to finish on some hundreds of ranks; with more ranks the result is less improved.
        std::int64_t looks_left = 400'000;
        for (bool changed = true; changed && looks_left > 0;) {
            changed = false;
            for (const Rank rank : by_distance_) {
                if (rank == trees_.front().root) continue;
                for (std::size_t a = 0; a < trees_.size(); ++a) {
                    for (std::size_t b = a + 1; b < trees_.size(); ++b) {
                        changed |= exchange(rank, a, b);
                    }
                }
                looks_left -= std::int64_t(trees_.size() * trees_.size() / 2);
                if (looks_left <= 0) break;
            }
        }
    }

  private:
    // Counts a rank and all that are entered through it.
    struct Below {
        std::int64_t ranks = 1;
        std::int64_t depths = 0;  // their sum
    };

    Below& below(std::size_t tree, Rank rank) { return below_[tree][std::size_t(rank)]; }

    void count_below(std::size_t t) {
        const SpanningTree& tree = trees_[t];
        below_[t].assign(tree.parent.size(), {0, 0});
        for (Rank rank = 0; rank < Rank(tree.parent.size()); ++rank) {
            add_above(t, rank, {1, tree.depth[std::size_t(rank)]});
        }
    }

    // Applies the change to a rank and to all ranks on its path to the root.
    void add_above(std::size_t t, Rank rank, Below change) {
        const SpanningTree& tree = trees_[t];
        for (;; rank = tree.parent[std::size_t(rank)]) {
            below(t, rank).ranks += change.ranks;
            below(t, rank).depths += change.depths;
            if (rank == tree.root) return;
        }
    }

    bool is_below(const SpanningTree& tree, Rank rank, Rank above) const {
        for (; tree.depth[std::size_t(rank)] > tree.depth[std::size_t(above)];) {
            rank = tree.parent[std::size_t(rank)];
        }
        return rank == above;
    }

    // The increase of the sum of squared depths when all ranks below a rank move deeper.
    std::int64_t cost(std::size_t tree, Rank rank, int deeper) {
        const Below& all = below(tree, rank);
        return 2 * deeper * all.depths + std::int64_t(deeper) * deeper * all.ranks;
    }

    bool exchange(Rank rank, std::size_t a, std::size_t b) {
        SpanningTree &first = trees_[a], &second = trees_[b];
        const auto at = std::size_t(rank);
        const Rank via_first = first.parent[at], via_second = second.parent[at];
        const int deeper_first = first.depth[std::size_t(via_second)] + 1 - first.depth[at];
        const int deeper_second = second.depth[std::size_t(via_first)] + 1 - second.depth[at];
        if (deeper_first >= 0 && deeper_second >= 0) return false;
        if (cost(a, rank, deeper_first) + cost(b, rank, deeper_second) >= 0) return false;
        if (is_below(first, via_second, rank) || is_below(second, via_first, rank)) return false;
        const std::int8_t by_first = first.by[at];
        hang(a, rank, via_second, second.by[at], deeper_first);
        hang(b, rank, via_first, by_first, deeper_second);
        return true;
    }

    // Moves a rank with all ranks below it to another parent.
    void hang(std::size_t t, Rank rank, Rank parent, std::int8_t by, int deeper) {
        SpanningTree& tree = trees_[t];
        const Below moved = below(t, rank);
        add_above(t, tree.parent[std::size_t(rank)], {-moved.ranks, -moved.depths});
        tree.parent[std::size_t(rank)] = parent;
        tree.by[std::size_t(rank)] = by;
        sink(t, rank, deeper);
        add_above(t, parent, {moved.ranks, moved.depths + deeper * moved.ranks});
    }

    void sink(std::size_t t, Rank top, int deeper) {
        SpanningTree& tree = trees_[t];
        sinking_.assign(1, top);
        while (!sinking_.empty()) {
            const Rank rank = sinking_.back();
            sinking_.pop_back();
            tree.depth[std::size_t(rank)] += deeper;
            below(t, rank).depths += deeper * below(t, rank).ranks;
            for (int way = 0; way < 2 * torus_.dimensions(); ++way) {
                const auto next = torus_.neighbour(rank, Direction::from_index(way));
                const bool child = next && tree.parent[std::size_t(*next)] == rank &&
                                   tree.by[std::size_t(*next)] == way;
                if (child) sinking_.push_back(*next);
            }
        }
    }

    const Torus& torus_;
    std::vector<SpanningTree>& trees_;
    std::vector<std::vector<Below>> below_;  // by tree and rank
    std::vector<Rank> by_distance_;
    std::vector<Rank> sinking_;
};

int tallest(const std::vector<SpanningTree>& trees) {
    int height = 0;
    for (const SpanningTree& tree : trees) height = std::max(height, tree.height());
    return height;
}

constexpr int most_ways = 2 * max_dimensions;
using Load = std::array<int, most_ways>;

// The directions in which a rank may be entered, one bit each, and the chosen one.
struct Entry {
    Rank rank;
    unsigned ways;
    int way;
};

// Moves one entry each along a chain of directions, from one that many entries use to one that at
// least two fewer use; false if there is no chain, and no choice has a smaller maximum.
bool relieve(std::vector<Entry>& entries, Load& load, int start) {
    std::array<int, most_ways> before{};
    std::array<Entry*, most_ways> mover{};
    before.fill(-1);
    before[std::size_t(start)] = start;
    std::vector<int> reached{start};
    for (std::size_t i = 0; i < reached.size(); ++i) {
        for (Entry& entry : entries) {
            if (entry.way != reached[i]) continue;
            for (unsigned ways = entry.ways; ways != 0; ways &= ways - 1) {
                const auto to = std::size_t(std::countr_zero(ways));
                if (before[to] >= 0) continue;
                before[to] = reached[i];
                mover[to] = &entry;
                reached.push_back(int(to));
            }
        }
        if (load[std::size_t(reached[i])] > load[std::size_t(start)] - 2) continue;
        --load[std::size_t(start)];
        ++load[std::size_t(reached[i])];
        for (int way = reached[i]; way != start; way = before[std::size_t(way)]) {
            mover[std::size_t(way)]->way = way;
        }
        return true;
    }
    return false;
}

// Chooses the directions of the ranks of one depth. `total` is the load of the depths before, to
// break ties.
void balance(std::vector<Entry>& entries, Load& total) {
    Load load{};
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return std::popcount(a.ways) < std::popcount(b.ways);
    });
    for (Entry& entry : entries) {
        const auto lighter = [&](int a, int b) {
            const auto i = std::size_t(a), j = std::size_t(b);
            return load[i] != load[j] ? load[i] < load[j] : total[i] < total[j];
        };
        for (unsigned ways = entry.ways; ways != 0; ways &= ways - 1) {
            const int way = std::countr_zero(ways);
            if (entry.way < 0 || lighter(way, entry.way)) entry.way = way;
        }
        ++load[std::size_t(entry.way)];
    }
    for (int way = 0; way < most_ways;) {
        const int most = *std::max_element(load.begin(), load.end());
        if (load[std::size_t(way)] < most || !relieve(entries, load, way)) ++way;
    }
    for (std::size_t way = 0; way < load.size(); ++way) total[way] += load[way];
}

}  // namespace

int SpanningTree::height() const {
    return depth.empty() ? 0 : *std::max_element(depth.begin(), depth.end());
}

std::vector<Hop> SpanningTree::children(Rank rank) const {
    std::vector<Hop> found;
    for (Rank child = 0; child < Rank(parent.size()); ++child) {
        if (parent[std::size_t(child)] != rank || child == root) continue;
        found.push_back({Direction::from_index(by[std::size_t(child)]), child});
    }
    return found;
}

SpanningTree dimension_ordered_tree(const Torus& torus, Rank root) {
    SpanningTree tree = tree_from(root, torus.size());
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        if (rank == root) continue;
        int d = torus.dimensions() - 1;
        while (torus.offset(root, rank, d) == 0) --d;
        enter(tree, torus, rank, {d, torus.offset(root, rank, d) > 0 ? +1 : -1});
        tree.depth[std::size_t(rank)] = torus.distance(root, rank);
    }
    return tree;
}

int disjoint_tree_count(const Torus& torus) {
    return int(Arcs(torus, 0).families().size());
}

std::vector<SpanningTree> disjoint_trees(const Torus& torus, Rank root) {
    const Arcs arcs(torus, root);
    std::vector<SpanningTree> trees;
    for (const Direction family : arcs.families()) {
        SpanningTree& tree = trees.emplace_back(tree_from(root, torus.size()));
        for (Rank rank = 0; rank < torus.size(); ++rank) {
            if (rank != root) enter(tree, torus, rank, arcs.into(rank, family));
        }
        measure(tree);
    }
    if (trees.size() < 2) return trees;
    std::vector<SpanningTree> lower = trees;
    Lowering(torus, lower).run();
    return tallest(lower) <= tallest(trees) ? lower : trees;
}

SpanningTree arc_balanced_tree(const Torus& torus, Rank root) {
    SpanningTree tree = tree_from(root, torus.size());
    std::vector<std::vector<Entry>> layers;
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        const int depth = torus.distance(root, rank);
        tree.depth[std::size_t(rank)] = depth;
        if (rank == root) continue;
        Entry entry{rank, 0, -1};
        for (int way = 0; way < 2 * torus.dimensions(); ++way) {
            const auto from = torus.neighbour(rank, Direction::from_index(way).opposite());
            if (from && torus.distance(root, *from) < depth) entry.ways |= 1U << way;
        }
        if (layers.size() < std::size_t(depth)) layers.resize(std::size_t(depth));
        layers[std::size_t(depth) - 1].push_back(entry);
    }
    Load total{};
    for (auto& layer : layers) {
        balance(layer, total);
        for (const Entry& entry : layer) {
            enter(tree, torus, entry.rank, Direction::from_index(entry.way));
        }
    }
    return tree;
}

}  // namespace torusmp::routing

// SPDX-License-Identifier: BSD-3-Clause
#include "routing/partition.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <random>

namespace torusmp::routing {

namespace {

// One bit per direction of the root's links.
using Regions = unsigned;

constexpr Regions only(int region) {
    return Regions(1) << region;
}

// The ranks by their distance from one of them, and the next ranks in every direction.
class Surroundings {
  public:
    Surroundings(const Torus& torus, Rank root)
        : ways_(2 * torus.dimensions()), root_(root), distance_(std::size_t(torus.size())) {
        next_.reserve(std::size_t(torus.size()) * std::size_t(ways_));
        for (Rank rank = 0; rank < torus.size(); ++rank) {
            distance_[std::size_t(rank)] = torus.distance(root, rank);
            for (int way = 0; way < ways_; ++way) {
                next_.push_back(torus.neighbour(rank, Direction::from_index(way)).value_or(-1));
            }
        }
    }

    int size() const { return int(distance_.size()); }
    int ways() const { return ways_; }
    Rank root() const { return root_; }
    int distance(Rank rank) const { return distance_[std::size_t(rank)]; }
    // -1 if there is none.
    Rank next(Rank rank, int way) const { return next_[std::size_t(rank * ways_ + way)]; }
    bool nearer(Rank a, Rank b) const { return a >= 0 && distance(a) == distance(b) - 1; }

  private:
    int ways_;
    Rank root_;
    std::vector<int> distance_;
    std::vector<Rank> next_;
};

// Regions that grow outwards from the root and are then balanced. At any time each placed rank is
// entered from a rank one step nearer that passes its region on.
class Growth {
  public:
    explicit Growth(const Surroundings& around)
        : around_(&around),
          region_(std::size_t(around.size()), -1),
          passes_(std::size_t(around.size()), 0) {
        for (int way = 0; way < around.ways(); ++way) {
            if (around.next(around.root(), way) >= 0) links_ |= only(way);
        }
    }

    int region(Rank rank) const { return region_[std::size_t(rank)]; }
    const std::vector<int>& regions() const { return region_; }
    // The regions that pass through `via` on their way to `rank`, one step further.
    Regions passing(Rank via, Rank rank) const {
        if (via != around_->root()) return passes_[std::size_t(via)];
        Regions links = 0;
        for (int way = 0; way < around_->ways(); ++way) {
            if (around_->next(via, way) == rank) links |= only(way);
        }
        return links;
    }

    // `layers` lists the ranks by distance. In each layer the ranks with the fewest choices come
    // first, and each joins the smallest region it can. Ties are broken in an order given by
    // `seed`.
    void grow(std::vector<Rank> layers, unsigned seed) {
        sizes_.fill(0);
        std::mt19937 random(seed);
        std::vector<std::pair<int, Rank>> layer;
        for (std::size_t begin = 1, end = begin; begin < layers.size(); begin = end) {
            layer.clear();
            for (; end < layers.size() &&
                   around_->distance(layers[end]) == around_->distance(layers[begin]);
                 ++end) {
                layer.push_back({std::popcount(choices(layers[end])), layers[end]});
            }
            for (std::size_t i = layer.size(); seed != 0 && i-- > 1;) {
                std::swap(layer[i], layer[random() % (i + 1)]);
            }
            std::stable_sort(layer.begin(), layer.end(),
                             [](auto a, auto b) { return a.first < b.first; });
            for (const auto& [choice, rank] : layer) place(rank, smallest(choices(rank)));
        }
    }

    // The difference between the largest and the smallest region.
    int spread() const {
        int least = std::numeric_limits<int>::max(), most = 0;
        for (int r = 0; r < around_->ways(); ++r) {
            if ((links_ & only(r)) == 0) continue;
            least = std::min(least, sizes_[std::size_t(r)]);
            most = std::max(most, sizes_[std::size_t(r)]);
        }
        return links_ == 0 ? 0 : most - least;
    }

    // Moves ranks from larger regions to smaller ones, the furthest first; false if there were
    // none.
    bool even_out(const std::vector<Rank>& layers) {
        bool moved = false;
        for (std::size_t i = layers.size(); i-- > 1;) {
            const Rank rank = layers[i];
            const Regions others = choices(rank) & ~only(region(rank));
            if (others == 0) continue;
            const int to = smallest(others);
            if (size(region(rank)) - size(to) < 2 || !movable(rank)) continue;
            move(rank, to);
            moved = true;
        }
        return moved;
    }

    // Moves one rank each along a chain of regions that leads from one of the largest to a smaller
    // one; false if the graph has none.
    bool even_out_by_chain(const std::vector<Rank>& layers) {
        const std::vector<Rank> movers = find_movers(layers);
        int largest = 0;
        for (int r = 0; r < around_->ways(); ++r) largest = std::max(largest, size(r));
        for (int r = 0; r < around_->ways(); ++r) {
            if (size(r) == largest && move_along_chain(r, movers)) return true;
        }
        return false;
    }

  private:
    int size(int region) const { return sizes_[std::size_t(region)]; }

    Regions choices(Rank rank) const {
        Regions found = 0;
        for (int way = 0; way < around_->ways(); ++way) {
            const Rank via = around_->next(rank, way);
            if (around_->nearer(via, rank)) found |= passing(via, rank);
        }
        return found;
    }

    int smallest(Regions regions) const {
        int found = -1;
        for (; regions != 0; regions &= regions - 1) {
            const int r = std::countr_zero(regions);
            if (found < 0 || size(r) < size(found)) found = r;
        }
        return found;
    }

    void place(Rank rank, int region) {
        region_[std::size_t(rank)] = region;
        ++sizes_[std::size_t(region)];
        const bool gate = around_->distance(rank) == 1;
        passes_[std::size_t(rank)] = gate ? passing(around_->root(), rank) : only(region);
    }

    void move(Rank rank, int to) {
        --sizes_[std::size_t(region(rank))];
        place(rank, to);
    }

    // Whether the rank can leave its region: every region that it could pass on also arrives on
    // another path.
    bool movable(Rank rank) const {
        if (around_->distance(rank) == 1) return true;  // a gate still passes on the same regions
        const Regions own = only(region(rank));
        for (int way = 0; way < around_->ways(); ++way) {
            const Rank further = around_->next(rank, way);
            if (further < 0 || !around_->nearer(rank, further)) continue;
            if (region(further) != region(rank)) continue;
            bool another = false;
            for (int back = 0; back < around_->ways() && !another; ++back) {
                const Rank via = around_->next(further, back);
                another = via != rank && around_->nearer(via, further) &&
                          (passing(via, further) & own) != 0;
            }
            if (!another) return false;
        }
        return true;
    }

    // For each pair of regions, a rank that may move from the first to the second, or -1.
    std::vector<Rank> find_movers(const std::vector<Rank>& layers) const {
        const auto ways = std::size_t(around_->ways());
        std::vector<Rank> movers(ways * ways, -1);
        for (std::size_t i = layers.size(); i-- > 1;) {
            const Rank rank = layers[i];
            Regions others = choices(rank) & ~only(region(rank));
            if (others == 0 || !movable(rank)) continue;
            for (; others != 0; others &= others - 1) {
                const auto to = std::size_t(std::countr_zero(others));
                Rank& mover = movers[std::size_t(region(rank)) * ways + to];
                if (mover < 0) mover = rank;
            }
        }
        return movers;
    }

    bool move_along_chain(int start, const std::vector<Rank>& movers) {
        const auto mover = [&](int from, int to) {
            return movers[std::size_t(from * around_->ways() + to)];
        };
        std::array<int, 2 * max_dimensions> before{};
        before.fill(-1);
        before[std::size_t(start)] = start;
        std::vector<int> reached{start};
        int end = -1;
        for (std::size_t i = 0; i < reached.size() && end < 0; ++i) {
            for (int r = 0; r < around_->ways() && end < 0; ++r) {
                if (before[std::size_t(r)] >= 0 || mover(reached[i], r) < 0) continue;
                before[std::size_t(r)] = reached[i];
                reached.push_back(r);
                if (size(r) <= size(start) - 2) end = r;
            }
        }
        if (end < 0) return false;
        // Starts at the far end; a move can undo the precondition of the move before it.
        bool moved = false;
        for (int r = end; r != start; r = before[std::size_t(r)]) {
            const Rank rank = mover(before[std::size_t(r)], r);
            const bool still = region(rank) == before[std::size_t(r)] &&
                               (choices(rank) & only(r)) != 0 && movable(rank);
            if (!still) break;
            move(rank, r);
            moved = true;
        }
        return moved;
    }

    const Surroundings* around_;
    Regions links_ = 0;
    std::vector<int> region_;      // by rank
    std::vector<Regions> passes_;  // by rank: the regions for which ranks further out can be
                                   // entered from it
    std::array<int, 2 * max_dimensions> sizes_{};
};

// One growth is nearly always enough. If the extents are small, an unlucky order among ties can
// leave regions that no single move balances; another order often does better.
Growth best_growth(const Surroundings& around, const std::vector<Rank>& layers) {
    constexpr unsigned orders = 16;
    constexpr int rounds = 50;
    Growth best(around);
    for (unsigned seed = 0; seed < orders; ++seed) {
        Growth growth(around);
        growth.grow(layers, seed);
        for (int round = 0; round < rounds && growth.spread() > 1; ++round) {
            if (!growth.even_out(layers) && !growth.even_out_by_chain(layers)) break;
        }
        if (seed == 0 || growth.spread() < best.spread()) best = growth;
        if (best.spread() <= 1) break;
    }
    return best;
}

std::vector<Rank> by_distance(const Surroundings& around) {
    std::vector<Rank> ranks(std::size_t(around.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::stable_sort(ranks.begin(), ranks.end(),
                     [&](Rank a, Rank b) { return around.distance(a) < around.distance(b); });
    return ranks;
}

SpanningTree tree_of(const Surroundings& around, const Growth& growth) {
    SpanningTree tree;
    tree.root = around.root();
    for (Rank rank = 0; rank < around.size(); ++rank) {
        tree.depth.push_back(around.distance(rank));
        tree.parent.push_back(around.root());
        tree.by.push_back(-1);
        if (rank == around.root()) continue;
        for (int way = 0; way < around.ways(); ++way) {
            const int back = Direction::from_index(way).opposite().index();
            const Rank via = around.next(rank, back);
            if (!around.nearer(via, rank)) continue;
            if ((growth.passing(via, rank) & only(growth.region(rank))) == 0) continue;
            if (via == around.root() && way != growth.region(rank)) continue;
            tree.parent.back() = via;
            tree.by.back() = std::int8_t(way);
            break;
        }
    }
    return tree;
}

}  // namespace

Partition optimal_partition(const Torus& torus, Rank root) {
    const Surroundings around(torus, root);
    const std::vector<Rank> layers = by_distance(around);
    const Growth growth = best_growth(around, layers);

    Partition partition;
    partition.root = root;
    partition.tree = tree_of(around, growth);
    partition.region.assign(std::size_t(torus.size()), -1);
    std::array<int, 2 * max_dimensions> numbered{};  // regions are numbered without gaps
    for (int way = 0; way < around.ways(); ++way) {
        if (around.next(root, way) < 0) continue;
        numbered[std::size_t(way)] = int(partition.first.size());
        partition.first.push_back(Direction::from_index(way));
    }
    partition.order.resize(partition.first.size());
    for (std::size_t i = layers.size(); i-- > 1;) {
        const int region = numbered[std::size_t(growth.region(layers[i]))];
        partition.region[std::size_t(layers[i])] = region;
        partition.order[std::size_t(region)].push_back(layers[i]);
    }
    return partition;
}

std::vector<Hop> Partition::path(Rank rank) const {
    std::vector<Hop> hops;
    for (Rank at = rank; at != root; at = tree.parent[std::size_t(at)]) {
        hops.push_back({Direction::from_index(tree.by[std::size_t(at)]), at});
    }
    std::reverse(hops.begin(), hops.end());
    // A gate's own step is the step of its own region.
    if (!hops.empty()) hops.front().direction = first[std::size_t(region[std::size_t(rank)])];
    return hops;
}

}  // namespace torusmp::routing

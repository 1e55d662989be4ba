// SPDX-License-Identifier: BSD-3-Clause
// Two searches, one after the other.
//
// The first builds the map as a product. It splits every physical extent into pieces, assigns each
// piece to a logical dimension, and lets each logical dimension walk over the box of its pieces. A
// piece that is a whole physical dimension has weight 1; in a split dimension the first piece has
// weight 1 and each next one the product of those before it. All splits with small weights are
// tried before any with larger ones, so the smallest dilation of this kind is found first.
//
// The second, for small grids whose product map has a dilation above 1, searches all maps for a
// smaller dilation: it places one logical place after another and backtracks from dead ends.
#include "routing/embedding_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "routing/walks.h"

namespace torusmp::routing {

namespace {

// Bounds on the work. A step of either search takes well below a microsecond.
constexpr std::int64_t product_work = 200'000;
constexpr std::int64_t backtrack_work = 12'000;

struct Cost {
    int maximum = 0;
    std::int64_t total = 0;
    friend auto operator<=>(const Cost&, const Cost&) = default;
};

constexpr Cost no_cost_yet{std::numeric_limits<int>::max(), 0};
constexpr int unbounded = std::numeric_limits<int>::max();

// The assignment of the physical dimensions: the pieces of each logical dimension, and the physical
// dimensions that count their slowest four blocks in Gray code. A ring of four is a square, so two
// logical dimensions of two can share it with every step of each a single step.
struct Plan {
    std::vector<std::vector<Piece>> pieces;
    std::array<bool, max_dimensions> gray{};
};

// The coordinate encoded by the sum of the contributions of all walks.
int decode(const Torus& physical, const Plan& plan, int dimension, int value) {
    if (!plan.gray[dimension]) return value;
    constexpr std::array<int, 4> block_of_code{0, 1, 3, 2};
    const int block = physical.extent(dimension) / 4;
    return value % block + block_of_code[value / block] * block;
}

Coordinates decode(const Torus& physical, const Plan& plan, Coordinates value) {
    for (int d = 0; d < physical.dimensions(); ++d) value[d] = decode(physical, plan, d, value[d]);
    return value;
}

int distance(const Torus& physical, const Coordinates& a, const Coordinates& b) {
    int steps = 0;
    for (int d = 0; d < physical.dimensions(); ++d) {
        const int apart = std::abs(a[d] - b[d]);
        steps += physical.periodic(d) ? std::min(apart, physical.extent(d) - apart) : apart;
    }
    return steps;
}

class ProductSearch {
  public:
    ProductSearch(const std::vector<int>& extents, const std::vector<bool>& periodic,
                  const Torus& physical);
    // Runs the search and builds the map from the best plan found.
    std::vector<Rank> run();
    const Cost& cost() const { return best_cost_; }

  private:
    // One assignment of one physical dimension, the fastest piece first.
    struct Share {
        int logical;
        int extent;
    };
    struct Split {
        std::vector<Share> shares;
        int heaviest = 1;
        bool gray = false;
        bool exact = false;  // all of it makes up a whole logical dimension
    };

    void descend(std::size_t depth);
    bool exhausted() const;
    std::vector<Split> splits(int dimension);
    void extend_split(int dimension, int rest, Split& split, std::vector<Split>& found);
    void finish_split(int dimension, Split split, std::vector<Split>& found) const;
    bool twin_before(int logical, const Split& split) const;
    void deal(int dimension, const Split& split);
    void take_back(const Split& split);
    void judge();
    Cost line_cost(const Walk& walk, bool ring) const;
    const std::pair<Cost, Walk>& best_line(std::size_t logical);
    std::vector<Rank> lay_out();

    const std::vector<int>& extents_;
    const std::vector<bool>& periodic_;
    const Torus& physical_;
    std::vector<int> order_;      // the physical dimensions larger than 1, largest first
    std::vector<int> remaining_;  // remaining part of each logical extent
    int bound_ = 1;               // on the weights tried
    std::int64_t work_ = 0;
    Plan plan_, best_;
    Cost best_cost_ = no_cost_yet;
    // The best walk, by logical dimension, pieces, and the Gray code flag of each piece.
    using LineKey = std::pair<std::size_t, std::vector<std::pair<Piece, bool>>>;
    std::map<LineKey, std::pair<Cost, Walk>> lines_;
};

ProductSearch::ProductSearch(const std::vector<int>& extents, const std::vector<bool>& periodic,
                             const Torus& physical)
    : extents_(extents), periodic_(periodic), physical_(physical), remaining_(extents) {
    for (int d = 0; d < physical.dimensions(); ++d) {
        if (physical.extent(d) > 1) order_.push_back(d);
    }
    // The largest fits in the fewest places, so dead ends show early.
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int a, int b) { return physical.extent(a) > physical.extent(b); });
    plan_.pieces.resize(extents.size());
}

std::vector<Rank> ProductSearch::run() {
    // Closing a ring may cost more than its weights, so a bound may yield a plan above it. Once the
    // best plan is at or below the bound, no larger weight can beat it.
    std::int64_t left = product_work;
    for (bound_ = 1; best_cost_.maximum > bound_ && left > 1000; ++bound_) {
        const std::int64_t allotted = left / 4;
        work_ = allotted;
        descend(0);
        left -= allotted - work_;
    }
    if (best_cost_ == no_cost_yet) {
        // Without a bound no branch fails: the first descent ends in a plan.
        bound_ = unbounded;
        work_ = 0;
        descend(0);
    }
    return lay_out();
}

bool ProductSearch::exhausted() const {
    return work_ <= 0 && (bound_ != unbounded || best_cost_ != no_cost_yet);
}

void ProductSearch::descend(std::size_t depth) {
    --work_;
    if (depth == order_.size()) return judge();
    for (const Split& split : splits(order_[depth])) {
        if (best_cost_.maximum == 1 || exhausted()) return;
        deal(order_[depth], split);
        descend(depth + 1);
        take_back(split);
        plan_.gray[order_[depth]] = false;
    }
}

std::vector<ProductSearch::Split> ProductSearch::splits(int dimension) {
    std::vector<Split> found;
    Split start;
    extend_split(dimension, physical_.extent(dimension), start, found);
    std::stable_sort(found.begin(), found.end(), [](const Split& a, const Split& b) {
        return std::tuple(a.heaviest, a.shares.size(), !a.exact) <
               std::tuple(b.heaviest, b.shares.size(), !b.exact);
    });
    return found;
}

void ProductSearch::extend_split(int dimension, int rest, Split& split, std::vector<Split>& found) {
    if (rest == 1) return finish_split(dimension, split, found);
    --work_;
    const int weight = physical_.extent(dimension) / rest;
    if (weight / 2 > bound_) return;  // Gray code halves the weight of the last piece
    if (exhausted() || (work_ <= 0 && !found.empty())) return;
    for (int i = 0; i < int(extents_.size()); ++i) {
        const int common = std::gcd(rest, remaining_[std::size_t(i)]);
        if (common == 1 || twin_before(i, split)) continue;
        if (std::any_of(split.shares.begin(), split.shares.end(),
                        [&](const Share& s) { return s.logical == i; })) {
            continue;
        }
        for (int extent = common; extent > 1; --extent) {
            if (common % extent != 0) continue;
            split.shares.push_back({i, extent});
            extend_split(dimension, rest / extent, split, found);
            split.shares.pop_back();
        }
    }
}

void ProductSearch::finish_split(int dimension, Split split, std::vector<Split>& found) const {
    const std::size_t count = split.shares.size();
    const int extent = physical_.extent(dimension);
    split.gray = count >= 2 && physical_.periodic(dimension) &&
                 split.shares[count - 1].extent == 2 && split.shares[count - 2].extent == 2;
    split.heaviest = split.gray ? extent / 4 : extent / split.shares.back().extent;
    split.exact = count == 1 && extents_[std::size_t(split.shares[0].logical)] == extent;
    if (split.heaviest <= bound_) found.push_back(std::move(split));
}

// Whether an equal logical dimension could have taken the next piece instead: then the two choices
// are mirror images, and one of them is enough.
bool ProductSearch::twin_before(int logical, const Split& split) const {
    const auto at = std::size_t(logical);
    for (std::size_t i = 0; i < at; ++i) {
        if (extents_[i] != extents_[at] || periodic_[i] != periodic_[at]) continue;
        if (remaining_[i] != remaining_[at] || plan_.pieces[i] != plan_.pieces[at]) continue;
        if (std::none_of(split.shares.begin(), split.shares.end(),
                         [&](const Share& s) { return s.logical == int(i); })) {
            return true;
        }
    }
    return false;
}

void ProductSearch::deal(int dimension, const Split& split) {
    int weight = 1;
    for (const Share& share : split.shares) {
        const bool slowest = weight * share.extent == physical_.extent(dimension);
        const bool closed = slowest && physical_.periodic(dimension);
        plan_.pieces[std::size_t(share.logical)].push_back(
            {dimension, share.extent, weight, closed});
        remaining_[std::size_t(share.logical)] /= share.extent;
        weight *= share.extent;
    }
    plan_.gray[dimension] = split.gray;
}

void ProductSearch::take_back(const Split& split) {
    for (const Share& share : split.shares) {
        plan_.pieces[std::size_t(share.logical)].pop_back();
        remaining_[std::size_t(share.logical)] *= share.extent;
    }
}

void ProductSearch::judge() {
    Cost cost;
    for (std::size_t i = 0; i < extents_.size(); ++i) {
        const Cost line = best_line(i).first;
        cost.maximum = std::max(cost.maximum, line.maximum);
        cost.total += line.total * (physical_.size() / extents_[i]);
        --work_;
        if (cost.maximum > best_cost_.maximum) return;
    }
    if (cost >= best_cost_) return;
    best_cost_ = cost;
    best_ = plan_;
}

Cost ProductSearch::line_cost(const Walk& walk, bool ring) const {
    Cost cost;
    const std::size_t steps = ring && walk.size() > 2 ? walk.size() : walk.size() - 1;
    for (std::size_t s = 0; s < steps; ++s) {
        const int apart = distance(physical_, decode(physical_, plan_, walk[s]),
                                   decode(physical_, plan_, walk[(s + 1) % walk.size()]));
        cost.maximum = std::max(cost.maximum, apart);
        cost.total += apart;
    }
    return cost;
}

const std::pair<Cost, Walk>& ProductSearch::best_line(std::size_t logical) {
    LineKey key{logical, {}};
    for (const Piece& piece : plan_.pieces[logical]) {
        key.second.emplace_back(piece, plan_.gray[piece.dimension]);
    }
    const auto known = lines_.find(key);
    if (known != lines_.end()) return known->second;
    std::pair<Cost, Walk> best{no_cost_yet, {}};
    for (Walk& walk : candidate_walks(plan_.pieces[logical], periodic_[logical])) {
        work_ -= std::int64_t(walk.size());
        const Cost cost = line_cost(walk, periodic_[logical]);
        if (cost < best.first) best = {cost, std::move(walk)};
    }
    return lines_.emplace(std::move(key), std::move(best)).first->second;
}

std::vector<Rank> ProductSearch::lay_out() {
    plan_ = best_;
    std::vector<Coordinates> places{Coordinates{}};
    for (std::size_t i = 0; i < extents_.size(); ++i) {
        const Walk& walk = best_line(i).second;
        std::vector<Coordinates> next;
        next.reserve(places.size() * walk.size());
        for (const Coordinates& outer : places) {
            for (const Coordinates& inner : walk) {
                next.push_back(outer);
                for (int d = 0; d < max_dimensions; ++d) next.back()[d] += inner[d];
            }
        }
        places = std::move(next);
    }
    std::vector<Rank> ranks;
    ranks.reserve(places.size());
    for (const Coordinates& place : places) {
        ranks.push_back(physical_.rank(decode(physical_, plan_, place)));
    }
    return ranks;
}

// Searches all maps whose logical neighbours are at most `reach` apart. The next place is the one
// with the fewest ranks left to choose from. Sets of ranks are the bits of a word.
class Backtracking {
  public:
    static constexpr int max_places = 64;
    Backtracking(const std::vector<int>& extents, const std::vector<bool>& periodic,
                 const Torus& physical);
    // Empty if none was found within the work limit.
    std::optional<std::vector<Rank>> run(int reach);

  private:
    using Set = std::uint64_t;
    using Choices = std::array<Set, max_places>;  // for each place not yet placed

    bool place_next(const Choices& choices, Set open, Set frontier);
    std::optional<Choices> after(int place, Rank rank, Choices choices, Set open) const;

    const Torus& physical_;
    Set everything_;
    std::array<Set, max_places> links_{};   // by place: its logical neighbours
    std::array<Set, max_places> within_{};  // by rank: the ranks in reach
    std::vector<Rank> ranks_;
    std::int64_t work_ = backtrack_work;  // for all reaches together
};

template <typename Visit>
void for_each_bit(std::uint64_t set, Visit visit) {
    for (; set != 0; set &= set - 1) visit(std::countr_zero(set));
}

Backtracking::Backtracking(const std::vector<int>& extents, const std::vector<bool>& periodic,
                           const Torus& physical)
    : physical_(physical),
      everything_(~Set(0) >> (max_places - physical.size())),
      ranks_(std::size_t(physical.size())) {
    int stride = physical.size();
    for (std::size_t d = 0; d < extents.size(); ++d) {
        stride /= extents[d];
        for (int place = 0; place < physical.size(); ++place) {
            const bool last = place / stride % extents[d] == extents[d] - 1;
            if (last && (!periodic[d] || extents[d] <= 2)) continue;
            const int next = last ? place - (extents[d] - 1) * stride : place + stride;
            links_[std::size_t(place)] |= Set(1) << next;
            links_[std::size_t(next)] |= Set(1) << place;
        }
    }
}

std::optional<std::vector<Rank>> Backtracking::run(int reach) {
    within_ = {};
    for (Rank a = 0; a < physical_.size(); ++a) {
        for (Rank b = 0; b < physical_.size(); ++b) {
            const bool near = a != b && physical_.distance(a, b) <= reach;
            within_[std::size_t(a)] |= Set(near) << b;
        }
    }
    Choices choices{};
    for_each_bit(everything_, [&](int place) {
        for_each_bit(everything_, [&](int rank) {
            const bool fits = std::popcount(within_[std::size_t(rank)]) >=
                              std::popcount(links_[std::size_t(place)]);
            choices[std::size_t(place)] |= Set(fits) << rank;
        });
    });
    // If every dimension wraps around, all ranks are alike, and the first place can take rank 0.
    bool alike = true;
    for (int d = 0; d < physical_.dimensions(); ++d) {
        alike = alike && (physical_.periodic(d) || physical_.extent(d) <= 2);
    }
    if (alike) choices[0] &= 1;
    if (!place_next(choices, everything_, 1)) return std::nullopt;
    return ranks_;
}

bool Backtracking::place_next(const Choices& choices, Set open, Set frontier) {
    if (open == 0) return true;
    int place = -1, fewest = max_places + 1;
    for_each_bit(frontier != 0 ? frontier : open, [&](int candidate) {
        const int left = std::popcount(choices[std::size_t(candidate)]);
        if (left < fewest) fewest = left, place = candidate;
    });
    open &= ~(Set(1) << place);
    for (Set rest = choices[std::size_t(place)]; rest != 0 && work_ > 0; rest &= rest - 1) {
        --work_;
        const Rank rank = std::countr_zero(rest);
        const auto next = after(place, rank, choices, open);
        if (!next) continue;
        ranks_[std::size_t(place)] = rank;
        if (place_next(*next, open, (frontier | links_[std::size_t(place)]) & open)) return true;
    }
    return false;
}

// The remaining choices for the open places after `place` has taken `rank`; empty at a dead end.
std::optional<Backtracking::Choices> Backtracking::after(int place, Rank rank, Choices choices,
                                                         Set open) const {
    const Set near = within_[std::size_t(rank)], links = links_[std::size_t(place)];
    for (Set rest = open; rest != 0; rest &= rest - 1) {
        const int other = std::countr_zero(rest);
        Set& choice = choices[std::size_t(other)];
        choice &= ~(Set(1) << rank);
        if (links >> other & 1) choice &= near;
        if (choice == 0) return std::nullopt;
    }
    return choices;
}

// A torus without an odd ring can be two-coloured like a chessboard, and so can everything that
// fits in it.
bool odd_ring_is_lost(const std::vector<int>& extents, const std::vector<bool>& periodic,
                      const Torus& physical) {
    for (int d = 0; d < physical.dimensions(); ++d) {
        if (physical.periodic(d) && physical.extent(d) % 2 != 0 && physical.extent(d) > 1)
            return false;
    }
    for (std::size_t d = 0; d < extents.size(); ++d) {
        if (periodic[d] && extents[d] % 2 != 0 && extents[d] > 1) return true;
    }
    return false;
}

}  // namespace

std::vector<Rank> find_embedding(const std::vector<int>& extents, const std::vector<bool>& periodic,
                                 const Torus& physical) {
    ProductSearch product(extents, periodic, physical);
    std::vector<Rank> ranks = product.run();
    const int found = product.cost().maximum;
    if (found <= 1 || physical.size() > Backtracking::max_places) return ranks;
    Backtracking any(extents, periodic, physical);
    for (int reach = odd_ring_is_lost(extents, periodic, physical) ? 2 : 1; reach < found;
         ++reach) {
        if (auto better = any.run(reach)) return *better;
    }
    return ranks;
}

}  // namespace torusmp::routing

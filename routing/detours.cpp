// SPDX-License-Identifier: BSD-3-Clause
#include "routing/detours.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace torusmp::routing {
namespace {

// The number of roots that are tried, and the limit on the work: all detours are computed for each.
constexpr std::size_t most_roots = 4;
constexpr std::int64_t most_steps = 50'000;

// The ranks that a route can reach from a rank by going up, in order of distance.
class Climb {
  public:
    Climb(const Detours& detours, Rank from)
        : detours_(detours),
          steps_(std::size_t(detours.parts().torus().size()), -1),
          came_(steps_.size()),
          found_{from} {
        steps_[std::size_t(from)] = 0;
    }

    int steps(Rank to) const { return steps_[std::size_t(to)]; }  // -1 if not found so far
    // The ranks found so far, nearest first.
    std::span<const Rank> found() const { return found_; }
    // Takes one more step from the ranks found last.
    void go_on() {
        for (const std::size_t end = found_.size(); next_ < end; ++next_) {
            const Rank rank = found_[next_];
            for (const Hop& hop : detours_.parts().steps(rank)) {
                int& steps = steps_[std::size_t(hop.rank)];
                if (steps >= 0 || !detours_.leads_up(rank, hop.rank)) continue;
                steps = this->steps(rank) + 1;
                came_[std::size_t(hop.rank)] = {hop.direction, rank};
                found_.push_back(hop.rank);
            }
        }
    }
    // The last step to a rank: its direction and the previous rank.
    Hop came(Rank to) const { return came_[std::size_t(to)]; }

  private:
    const Detours& detours_;
    std::vector<int> steps_;
    std::vector<Hop> came_;
    std::vector<Rank> found_;
    std::size_t next_ = 0;
};

// The rank at which the shortest route turns from up to down. Going down to a rank is climbing from
// it in reverse, so both ends climb until they cannot meet any nearer. Precondition: the two ranks
// are connected.
Rank highest_of_route(Climb& one, Climb& other) {
    Rank highest = -1;
    int shortest = std::numeric_limits<int>::max();
    for (int depth = 0;; ++depth) {
        for (const Rank rank : one.found()) {
            if (other.steps(rank) < 0) continue;
            const int steps = one.steps(rank) + other.steps(rank);
            if (std::pair(steps, rank) >= std::pair(shortest, highest)) continue;
            shortest = steps;
            highest = rank;
        }
        if (shortest <= depth) return highest;
        one.go_on();
        other.go_on();
    }
}

}  // namespace

Link link_by(const Torus& torus, Rank rank, Direction direction) {
    return {direction.sign > 0 ? rank : *torus.neighbour(rank, direction), direction.dimension};
}

Rank far_end(const Torus& torus, const Link& link) {
    return *torus.neighbour(link.rank, link.direction());
}

Parts::Parts(const Torus& torus, std::span<const Link> dead)
    : torus_(torus), dead_(dead.begin(), dead.end()) {
    std::sort(dead_.begin(), dead_.end());
    dead_.erase(std::unique(dead_.begin(), dead_.end()), dead_.end());
    const auto ways = std::size_t(2 * torus_.link_dimensions());
    std::vector<bool> gone(std::size_t(torus_.size()) * ways);
    const auto end_of = [&](Rank rank, Direction direction) {
        return gone[std::size_t(rank) * ways + std::size_t(direction.index())];
    };
    for (const Link& link : dead_) {
        end_of(link.rank, link.direction()) = true;
        end_of(far_end(torus_, link), link.direction().opposite()) = true;
    }
    for (Rank rank = 0; rank < torus_.size(); ++rank) {
        first_step_.push_back(steps_.size());
        for (int i = 0; i < int(ways); ++i) {
            const Direction direction = Direction::from_index(i);
            if (end_of(rank, direction)) continue;
            if (const auto to = torus_.neighbour(rank, direction))
                steps_.push_back({direction, *to});
        }
    }
    first_step_.push_back(steps_.size());

    part_.assign(std::size_t(torus_.size()), -1);
    std::vector<Rank> found;
    for (Rank first = 0; first < torus_.size(); ++first) {
        if (of(first) >= 0) continue;
        part_[std::size_t(first)] = count();
        for (found.assign(1, first); !found.empty();) {
            const Rank rank = found.back();
            found.pop_back();
            for (const Hop& hop : steps(rank)) {
                if (of(hop.rank) >= 0) continue;
                part_[std::size_t(hop.rank)] = count();
                found.push_back(hop.rank);
            }
        }
        lowest_.push_back(first);
    }
}

std::vector<Link> Parts::cut() const {
    std::vector<Link> between;
    std::copy_if(dead_.begin(), dead_.end(), std::back_inserter(between),
                 [&](const Link& link) { return apart(link); });
    return between;
}

Detours::Detours(const Torus& torus, std::span<const Link> dead) : parts_(torus, dead) {
    level_.assign(std::size_t(torus.size()), -1);
    std::vector<std::vector<Rank>> members(std::size_t(parts_.count()));
    for (Rank rank = 0; rank < torus.size(); ++rank)
        members[std::size_t(parts_.of(rank))].push_back(rank);
    for (int part = 0; part < parts_.count(); ++part) choose_root(part, members[std::size_t(part)]);
}

void Detours::set_levels(Rank root, std::span<const Rank> members) {
    for (const Rank rank : members) level_[std::size_t(rank)] = -1;
    std::vector<Rank> found{root};
    level_[std::size_t(root)] = 0;
    for (std::size_t next = 0; next < found.size(); ++next) {
        const Rank rank = found[next];
        for (const Hop& hop : parts_.steps(rank)) {
            int& level = level_[std::size_t(hop.rank)];
            if (level >= 0) continue;
            level = level_[std::size_t(rank)] + 1;
            found.push_back(hop.rank);
        }
    }
}

// If an end of a dead link is the root, the detour of that link only leads down and is as short as
// the graph allows. So these ends are tried in each part, and the root with the smallest total
// length of all detours is chosen.
void Detours::choose_root(int part, std::span<const Rank> members) {
    std::vector<Rank> roots;
    std::int64_t detours = 0;
    for (const Link& link : parts_.dead()) {
        if (parts_.of(link.rank) != part || parts_.apart(link)) continue;
        ++detours;
        for (const Rank end : {link.rank, far_end(parts_.torus(), link)})
            if (std::find(roots.begin(), roots.end(), end) == roots.end()) roots.push_back(end);
    }
    if (roots.empty()) roots.push_back(parts_.lowest(part));
    const auto steps = (detours + 1) * std::int64_t(members.size()) * parts_.torus().link_dimensions();
    roots.resize(std::clamp(std::size_t(most_steps / steps), std::size_t(1),
                            std::min(roots.size(), most_roots)));
    Rank best = roots.front();
    auto shortest = std::numeric_limits<std::int64_t>::max();
    for (const Rank root : roots) {
        set_levels(root, members);
        if (roots.size() == 1) return;
        const std::int64_t length = length_of_detours(part);
        if (length >= shortest) continue;
        shortest = length;
        best = root;
    }
    set_levels(best, members);
}

std::int64_t Detours::length_of_detours(int part) const {
    std::int64_t length = 0;
    for (const Link& link : parts_.dead())
        if (parts_.of(link.rank) == part)
            if (const auto path = around(link.rank, link.direction()))
                length += std::int64_t(path->size());
    return length;
}

// Computed from the lower rank, so that both ends find the same route.
std::optional<std::vector<Hop>> Detours::route(Rank from, Rank to) const {
    if (parts_.of(from) != parts_.of(to)) return std::nullopt;
    if (from > to) {
        const auto there = *route(to, from);
        std::vector<Hop> back;
        for (std::size_t i = there.size(); i-- > 0;)
            back.push_back({there[i].direction.opposite(), i > 0 ? there[i - 1].rank : to});
        return back;
    }
    Climb up(*this, from);
    Climb down(*this, to);
    const Rank highest = highest_of_route(up, down);
    std::vector<Hop> hops;
    for (Rank at = highest; at != from; at = up.came(at).rank)
        hops.push_back({up.came(at).direction, at});
    std::reverse(hops.begin(), hops.end());
    for (Rank at = highest; at != to; at = down.came(at).rank)
        hops.push_back({down.came(at).direction.opposite(), down.came(at).rank});
    return hops;
}

}  // namespace torusmp::routing

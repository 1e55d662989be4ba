// SPDX-License-Identifier: BSD-3-Clause
// Detours: the paths around dead links.
//
// The part of a torus that remains when links die may be any graph, on which shortest direction
// first is not a valid route. Here the routes are up*/down* (Schroeder et al., Autonet, 1991): the
// ranks of each connected part are ordered by their distance from a root, ties by number; a step to
// an earlier rank is up, to a later one down; a route goes up some steps, then down some, and never
// up again. In that order no cycle of waiting routes exists: a channel up leads to channels nearer
// the root or down, a channel down only to channels further away. So packets with finite slots of
// their own cannot deadlock, whatever the graph.
//
// All ranks that know the same dead links compute the same answers. A plain value, immutable; any
// thread.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "routing/torus.h"

namespace torusmp::routing {

// One link, identified by the end from which it leads out in the positive direction.
struct Link {
    Rank rank = 0;
    int dimension = 0;
    Direction direction() const { return {dimension, +1}; }
    friend constexpr bool operator==(const Link&, const Link&) = default;
    friend constexpr auto operator<=>(const Link&, const Link&) = default;
};

// The link out of a rank in a direction. Precondition: there is a neighbour.
Link link_by(const Torus& torus, Rank rank, Direction direction);
// The rank at the other end of a link.
Rank far_end(const Torus& torus, const Link& link);

// The connected parts of a torus with dead links, numbered by their lowest ranks.
class Parts {
  public:
    // Precondition: links of that torus. Order and repetitions do not matter.
    Parts(const Torus& torus, std::span<const Link> dead);

    const Torus& torus() const { return torus_; }
    const std::vector<Link>& dead() const { return dead_; }  // sorted, without duplicates
    int count() const { return int(lowest_.size()); }
    bool connected() const { return count() == 1; }
    int of(Rank rank) const { return part_[std::size_t(rank)]; }
    Rank lowest(int part) const { return lowest_[std::size_t(part)]; }
    bool apart(const Link& link) const { return of(link.rank) != of(far_end(torus_, link)); }
    // The dead links between two parts: the parts stay separate until one of these links returns.
    std::vector<Link> cut() const;
    // The live links out of a rank, in the order of their directions.
    std::span<const Hop> steps(Rank from) const {
        const std::size_t first = first_step_[std::size_t(from)];
        return std::span(steps_).subspan(first, first_step_[std::size_t(from) + 1] - first);
    }

  private:
    Torus torus_;
    std::vector<Link> dead_;
    std::vector<Hop> steps_;  // rank by rank
    std::vector<std::size_t> first_step_;
    std::vector<int> part_;  // by rank
    std::vector<Rank> lowest_;
};

class Detours {
  public:
    // Precondition: links of that torus. Order and repetitions do not matter.
    Detours(const Torus& torus, std::span<const Link> dead);

    const Parts& parts() const { return parts_; }

    // A shortest up*/down* route; the return route is its reverse. Empty if the two ranks are in
    // different parts.
    std::optional<std::vector<Hop>> route(Rank from, Rank to) const;
    // The detour of a dead link from one of its ends; the link leaves `from` in `direction`. Empty
    // if its ends are in different parts.
    std::optional<std::vector<Hop>> around(Rank from, Direction direction) const {
        return route(from, *parts_.torus().neighbour(from, direction));
    }

    // Whether a step from `from` to `to`, over a live link, leads up.
    bool leads_up(Rank from, Rank to) const {
        return std::pair(level_[std::size_t(to)], to) < std::pair(level_[std::size_t(from)], from);
    }

  private:
    void choose_root(int part, std::span<const Rank> members);
    void set_levels(Rank root, std::span<const Rank> members);
    std::int64_t length_of_detours(int part) const;

    Parts parts_;
    std::vector<int> level_;  // steps from each rank to the root of its part
};

}  // namespace torusmp::routing

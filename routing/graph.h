// SPDX-License-Identifier: BSD-3-Clause
// A machine whose cables form any connected graph, and the paths of packets over it. A Torus with a
// Graph (torus.h) takes its links and paths from the Graph; the extents only give coordinates.
//
// Paths are shortest and free of deadlock. The ranks are ordered by their distance from a root, and
// by number at the same distance. A step to an earlier rank leads up, a step to a later one down.
// Where a packet turns from down to up, it moves to the next virtual channel. So within a virtual
// channel a packet goes up some steps, then down, and no cycle of waiting packets can exist
// (up*/down*, Schroeder et al., Autonet, 1991). Among the shortest paths, those with the fewest
// turns are chosen: nearly all graphs need one or two virtual channels. If a graph needs more than
// there are, its paths do not turn from down to up, and some of them are not shortest.
//
// A plain value, immutable; any thread may use it. The same arguments give the same paths on all
// ranks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "routing/direction.h"

namespace torusmp::routing {

// A cable of a graph, identified by the end from which it leads out in the positive direction of a
// dimension. As in a torus, its other end is the negative direction of that dimension.
struct GraphCable {
    Rank from = 0;
    int dimension = 0;
    Rank to = 0;
    friend constexpr bool operator==(const GraphCable&, const GraphCable&) = default;
};

// The largest graph: every rank keeps a table of all pairs.
inline constexpr int max_graph_ranks = 1024;

// Gives each cable a direction, so that the cables of a rank have different directions. The result
// is in the order of `cables`. The number of dimensions is half of the largest number of cables at
// a rank, rounded up. Precondition: the two ends of a cable are different ranks below `size`.
std::vector<GraphCable> assign_directions(int size, std::span<const std::pair<Rank, Rank>> cables);

class Graph;
// The graph of `each` ranks on every node: rank r of a node has the node's cables to rank r of its
// neighbours, in the same directions, and the ranks of a node form a ring in a further dimension.
// Throws std::invalid_argument as the constructor does.
std::shared_ptr<const Graph> with_ranks(const std::shared_ptr<const Graph>& nodes, int each);

class Graph {
  public:
    // Packets may use `channels` virtual channels. Throws std::invalid_argument if the graph is not
    // connected, has more ranks than max_graph_ranks, or uses a direction twice or beyond
    // max_dimensions.
    Graph(int size, std::span<const GraphCable> cables, int channels = max_dimensions);

    int size() const { return size_; }
    const std::vector<GraphCable>& cables() const { return cables_; }
    int dimensions() const { return dimensions_; }  // of directions
    int channels() const { return channels_; }      // virtual channels that packets use
    bool shortest() const { return shortest_; }     // whether all paths are shortest

    std::optional<Rank> neighbour(Rank from, Direction direction) const {
        const std::size_t way = std::size_t(direction.index());
        if (way >= std::size_t(2 * dimensions_)) return std::nullopt;
        const Rank to = ends_[std::size_t(from)][way];
        return to < 0 ? std::nullopt : std::optional(to);
    }
    // The number of steps of the path from a to b.
    int distance(Rank a, Rank b) const { return distance_[at(a, b)]; }
    std::optional<Hop> next_hop(Rank from, Rank to) const;
    // Whether a packet to `to` may begin with that step: over a parallel cable, or on another
    // shortest path.
    bool may_begin(Rank from, Direction direction, Rank to) const;
    // Whether a packet that goes from `before` over `here` to `after` moves to the next virtual
    // channel.
    bool turns(Rank before, Rank here, Rank after) const {
        return !leads_up(before, here) && leads_up(here, after);
    }
    bool leads_up(Rank from, Rank to) const {
        return order_[std::size_t(to)] < order_[std::size_t(from)];
    }

  private:
    using Ends = std::array<std::int16_t, std::size_t(2 * max_dimensions)>;

    std::size_t at(Rank from, Rank to) const {
        return std::size_t(from) * std::size_t(size_) + std::size_t(to);
    }
    std::vector<int> distances_from(Rank root) const;
    void check() const;
    void order_ranks();
    int find_shortest(Rank to);
    void find_up_down(Rank to);
    void choose(Rank from, Rank to, std::span<const int> ways);

    int size_;
    std::vector<GraphCable> cables_;
    int dimensions_ = 0;
    int channels_ = 1;
    bool shortest_ = true;
    std::vector<Ends> ends_;               // by rank and Direction::index(); -1: no cable
    std::vector<int> order_;               // the position of each rank
    std::vector<Rank> by_order_;           // the inverse
    std::vector<std::uint8_t> next_;       // Direction::index() of the first step, by at()
    std::vector<std::uint16_t> distance_;  // by at()
};

}  // namespace torusmp::routing

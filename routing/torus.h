// SPDX-License-Identifier: BSD-3-Clause
// Torus and open-mesh mathematics: ranks, coordinates, neighbours, distances and shortest paths.
//
// Pure values without I/O or state: a Torus is immutable, copies are cheap, and every function may
// be called from any thread. Ranks are row-major, the last dimension fastest.
//
// A machine whose cables form another graph is a Torus with this Graph: its links and paths are
// those of the graph, and the extents only number its ranks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "routing/direction.h"
#include "routing/graph.h"

namespace torusmp::routing {

// One coordinate per dimension; entries from `Torus::dimensions()` on are zero.
using Coordinates = std::array<int, max_dimensions>;

class Torus {
  public:
    // `dims` has 1 to max_dimensions extents, each at least 1; `periodic` is empty (all wrap
    // around) or has one flag per dimension. Throws std::invalid_argument with the found and the
    // expected value.
    explicit Torus(std::span<const int> dims, const std::vector<bool>& periodic = {});
    // The ranks of a graph, in a line, or a ring if the last rank is next to the first.
    explicit Torus(std::shared_ptr<const Graph> graph);

    // Null if the links are those of the torus.
    const Graph* graph() const { return graph_.get(); }
    // The dimensions in whose directions links leave a rank.
    int link_dimensions() const { return graph_ ? graph_->dimensions() : dimensions_; }
    // The virtual channels that packets use, see docs/architecture.md.
    int virtual_channels() const { return graph_ ? graph_->channels() : dimensions_; }
    // Whether a packet that arrived at `here` by its link in direction `in` moves to the next
    // virtual channel when it leaves by `out`. Precondition: there are such links.
    bool turns(Rank here, Direction in, Direction out) const;

    int dimensions() const { return dimensions_; }
    int extent(int dimension) const { return extent_[dimension]; }
    bool periodic(int dimension) const { return periodic_[dimension]; }
    int size() const { return size_; }
    std::span<const int> extents() const { return {extent_.data(), std::size_t(dimensions_)}; }

    Coordinates coordinates(Rank rank) const;
    // Precondition: 0 <= c[d] < extent(d).
    Rank rank(const Coordinates& coordinates) const;

    // The rank one step away; empty at the edge of an open mesh and in a dimension of size 1. In a
    // periodic dimension of size 2 both directions lead to the same rank, over two links.
    std::optional<Rank> neighbour(Rank from, Direction direction) const;

    // Steps from a to b along one dimension, signed: the shorter way round, + on a tie. In a ring
    // of two both ranks use the same cable: the one in direction + of the first rank.
    int offset(Rank from, Rank to, int dimension) const;
    // Steps of a shortest path.
    int distance(Rank from, Rank to) const;

    // Shortest direction first: the next step goes along the dimension with the fewest remaining
    // steps (not zero; the lowest dimension on a tie), so a packet finishes each dimension it
    // enters and crosses each at most once. Empty if from == to. No allocation.
    std::optional<Hop> next_hop(Rank from, Rank to) const;
    std::vector<Hop> path(Rank from, Rank to) const;

    // Whether that dimension is a ring (periodic and larger than 2), where finite slots could
    // deadlock and the bubble rule is needed.
    bool is_ring(int dimension) const {
        return !graph_ && periodic_[dimension] && extent_[dimension] > 2;
    }

    // "4x8x8", with "open" after an extent that does not wrap: "4x8open". "graph of 5 with 7
    // cables".
    std::string describe() const;

    friend bool operator==(const Torus&, const Torus&) = default;

  private:
    // Division by multiplication: ranks are converted into coordinates for every relayed packet,
    // and a division costs several times as much. Exact for all dividends below 2^31.
    struct Divisor {
        std::uint64_t factor = 0;
        int shift = 0;
        Divisor() = default;
        explicit Divisor(int divisor);
        int divide(int value) const {
            return int(std::uint64_t(unsigned(value)) * factor >> shift);
        }
        friend bool operator==(const Divisor&, const Divisor&) = default;
    };

    int shortest(int steps, int dimension) const;
    int coordinate(Rank rank, int dimension) const;

    int dimensions_ = 0;
    int size_ = 1;
    std::array<int, max_dimensions> extent_{};
    std::array<int, max_dimensions> stride_{};
    std::array<Divisor, max_dimensions> by_stride_{};
    std::array<Divisor, max_dimensions> by_extent_{};
    // Direct offsets above `ahead` or below `-behind` are longer than going round the other way.
    std::array<int, max_dimensions> ahead_{};
    std::array<int, max_dimensions> behind_{};
    std::array<bool, max_dimensions> periodic_{};
    std::shared_ptr<const Graph> graph_;
};

// `ranks` split over `dimensions` extents as evenly as possible, largest first: 12 over 3 is 3x2x2.
std::vector<int> balanced_dims(int ranks, int dimensions);

// "2x2x2" -> {2, 2, 2}. Throws std::invalid_argument that quotes the text.
std::vector<int> parse_dims(const std::string& text);

}  // namespace torusmp::routing

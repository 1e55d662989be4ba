// SPDX-License-Identifier: BSD-3-Clause
#include "routing/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "base/assert.h"

namespace torusmp::routing {
namespace {

constexpr int unreached = std::numeric_limits<int>::max();

// An orientation of the cables in which as many leave each rank as enter it, or one more or fewer:
// closed walks over all cables and over ties from each rank with an odd number of them to an
// additional rank.
class Orientation {
  public:
    Orientation(int size, std::span<const std::pair<Rank, Rank>> cables)
        : edges_(cables.begin(), cables.end()),
          used_(cables.size()),
          around_(std::size_t(size) + 1) {
        for (std::size_t i = 0; i < edges_.size(); ++i) meet(i);
        for (Rank rank = 0; rank < size; ++rank)
            if (around_[std::size_t(rank)].size() % 2 != 0) {
                edges_.push_back({rank, size});
                meet(edges_.size() - 1);
            }
        used_.resize(edges_.size());
        for (Rank rank = 0; rank <= size; ++rank) walk(rank);
        edges_.resize(cables.size());
    }
    // The two ends of each cable, from and to.
    const std::vector<std::pair<Rank, Rank>>& edges() const { return edges_; }

  private:
    void meet(std::size_t edge) {
        around_[std::size_t(edges_[edge].first)].push_back(edge);
        around_[std::size_t(edges_[edge].second)].push_back(edge);
    }
    // Walks from a rank until it is back there and no edge is left; all numbers of edges are even.
    void walk(Rank at) {
        for (auto* edges = &around_[std::size_t(at)]; !edges->empty();
             edges = &around_[std::size_t(at)]) {
            const std::size_t edge = edges->back();
            edges->pop_back();
            if (used_[edge]) continue;
            used_[edge] = true;
            if (edges_[edge].first != at) std::swap(edges_[edge].first, edges_[edge].second);
            at = edges_[edge].second;
        }
    }

    std::vector<std::pair<Rank, Rank>> edges_;
    std::vector<bool> used_;
    std::vector<std::vector<std::size_t>> around_;
};

// Colours the edges of a bipartite graph, ends that cables leave and ends that they enter, with as
// many colours as an end has edges at most (Koenig).
class Colouring {
  public:
    Colouring(int size, const std::vector<std::pair<Rank, Rank>>& edges, int colours)
        : edges_(edges),
          colours_(std::size_t(colours)),
          colour_(edges.size(), -1),
          edge_of_(2 * std::size_t(size) * colours_, -1) {
        for (std::size_t i = 0; i < edges.size(); ++i) add(int(i));
    }
    int colour(std::size_t edge) const { return colour_[edge]; }

  private:
    // The edge of a colour at an end; -1: none.
    int& edge_at(int end, int colour) {
        return edge_of_[std::size_t(end) * colours_ + std::size_t(colour)];
    }
    int leaves(int edge) const { return 2 * edges_[std::size_t(edge)].first; }
    int enters(int edge) const { return 2 * edges_[std::size_t(edge)].second + 1; }
    int free_at(int end) {
        int colour = 0;
        while (edge_at(end, colour) >= 0) ++colour;
        TORUSMP_ASSERT(std::size_t(colour) < colours_, end, colour, colours_);
        return colour;
    }
    void add(int edge) {
        const int out = free_at(leaves(edge)), in = free_at(enters(edge));
        // Exchanges the two colours along the path that begins with `out` at the other end, which
        // does not lead back here.
        if (out != in) exchange(enters(edge), out, in);
        colour_[std::size_t(edge)] = out;
        edge_at(leaves(edge), out) = edge_at(enters(edge), out) = edge;
    }
    void exchange(int end, int one, int other) {
        std::vector<int> path;
        for (int colour = one;; colour = colour == one ? other : one) {
            const int edge = edge_at(end, colour);
            if (edge < 0) break;
            path.push_back(edge);
            end = leaves(edge) == end ? enters(edge) : leaves(edge);
        }
        for (const int edge : path)
            for (const int each : {leaves(edge), enters(edge)})
                edge_at(each, colour_[std::size_t(edge)]) = -1;
        for (const int edge : path) {
            int& colour = colour_[std::size_t(edge)];
            colour = colour == one ? other : one;
            edge_at(leaves(edge), colour) = edge_at(enters(edge), colour) = edge;
        }
    }

    const std::vector<std::pair<Rank, Rank>>& edges_;
    std::size_t colours_;
    std::vector<int> colour_;
    std::vector<int> edge_of_;
};

}  // namespace

std::vector<GraphCable> assign_directions(int size, std::span<const std::pair<Rank, Rank>> cables) {
    const Orientation orientation(size, cables);
    std::vector<int> out(std::size_t(size), 0), in(std::size_t(size), 0);
    int colours = 0;
    for (const auto& [from, to] : orientation.edges())
        colours = std::max({colours, ++out[std::size_t(from)], ++in[std::size_t(to)]});
    const Colouring colouring(size, orientation.edges(), colours);
    std::vector<GraphCable> assigned;
    for (std::size_t i = 0; i < cables.size(); ++i)
        assigned.push_back(
            {orientation.edges()[i].first, colouring.colour(i), orientation.edges()[i].second});
    return assigned;
}

std::shared_ptr<const Graph> with_ranks(const std::shared_ptr<const Graph>& nodes, int each) {
    if (each == 1) return nodes;
    std::vector<GraphCable> cables;
    for (const GraphCable& cable : nodes->cables())
        for (int rank = 0; rank < each; ++rank)
            cables.push_back({cable.from * each + rank, cable.dimension, cable.to * each + rank});
    const int inside = nodes->dimensions();
    for (Rank node = 0; node < nodes->size(); ++node)
        for (int rank = 0; rank < (each == 2 ? 1 : each); ++rank)
            cables.push_back({node * each + rank, inside, node * each + (rank + 1) % each});
    return std::make_shared<const Graph>(nodes->size() * each, cables);
}

Graph::Graph(int size, std::span<const GraphCable> cables, int channels)
    : size_(size), cables_(cables.begin(), cables.end()) {
    check();
    Ends none;
    none.fill(-1);
    ends_.assign(std::size_t(size), none);
    for (const GraphCable& cable : cables_) {
        auto& from = ends_[std::size_t(cable.from)][std::size_t(2 * cable.dimension)];
        auto& to = ends_[std::size_t(cable.to)][std::size_t(2 * cable.dimension + 1)];
        if (from >= 0 || to >= 0)
            throw std::invalid_argument(
                fmt::format("two cables of rank {} or {} in dimension {}; expected one in each "
                            "direction",
                            cable.from, cable.to, cable.dimension));
        from = std::int16_t(cable.to);
        to = std::int16_t(cable.from);
        dimensions_ = std::max(dimensions_, cable.dimension + 1);
    }
    order_ranks();
    next_.resize(at(size, 0));
    distance_.resize(next_.size());
    for (Rank to = 0; to < size; ++to) channels_ = std::max(channels_, find_shortest(to));
    if (channels_ <= channels) return;
    shortest_ = false;
    channels_ = 1;
    for (Rank to = 0; to < size; ++to) find_up_down(to);
}

void Graph::check() const {
    if (size_ < 1 || size_ > max_graph_ranks)
        throw std::invalid_argument(
            fmt::format("a graph of {} ranks: expected 1 to {}", size_, max_graph_ranks));
    for (const GraphCable& cable : cables_)
        if (cable.from < 0 || cable.from >= size_ || cable.to < 0 || cable.to >= size_ ||
            cable.from == cable.to || cable.dimension < 0 || cable.dimension >= max_dimensions)
            throw std::invalid_argument(
                fmt::format("a cable from rank {} to rank {} in dimension {}: expected two ranks "
                            "below {} and a dimension below {}",
                            cable.from, cable.to, cable.dimension, size_, max_dimensions));
}

std::vector<int> Graph::distances_from(Rank root) const {
    std::vector<int> steps(std::size_t(size_), unreached);
    std::vector<Rank> found{root};
    steps[std::size_t(root)] = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
        for (const Rank next : ends_[std::size_t(found[i])])
            if (next >= 0 && steps[std::size_t(next)] == unreached) {
                steps[std::size_t(next)] = steps[std::size_t(found[i])] + 1;
                found.push_back(next);
            }
    return steps;
}

// The root is a rank from which the furthest one is nearest.
void Graph::order_ranks() {
    std::vector<int> levels;
    int height = unreached;
    for (Rank root = 0; root < size_; ++root) {
        std::vector<int> steps = distances_from(root);
        const int furthest = *std::max_element(steps.begin(), steps.end());
        if (furthest == unreached)
            throw std::invalid_argument("the cables do not connect all ranks");
        if (furthest >= height) continue;
        height = furthest;
        levels = std::move(steps);
    }
    by_order_.resize(std::size_t(size_));
    std::iota(by_order_.begin(), by_order_.end(), 0);
    std::stable_sort(by_order_.begin(), by_order_.end(), [&](Rank a, Rank b) {
        return levels[std::size_t(a)] < levels[std::size_t(b)];
    });
    order_.resize(by_order_.size());
    for (int i = 0; i < size_; ++i) order_[std::size_t(by_order_[std::size_t(i)])] = i;
}

// Spreads the paths to different ranks over equally good first steps.
void Graph::choose(Rank from, Rank to, std::span<const int> ways) {
    TORUSMP_ASSERT(!ways.empty(), from, to);
    next_[at(from, to)] = std::uint8_t(ways[std::size_t(from + to) % ways.size()]);
}

// The shortest paths to a rank with the fewest turns from down to up. Returns the virtual channels
// that they need.
int Graph::find_shortest(Rank to) {
    const std::vector<int> steps = distances_from(to);
    std::vector<Rank> nearest(steps.size());
    std::iota(nearest.begin(), nearest.end(), 0);
    std::stable_sort(nearest.begin(), nearest.end(),
                     [&](Rank a, Rank b) { return steps[std::size_t(a)] < steps[std::size_t(b)]; });
    // For each rank, the turns of the rest of the path where it arrives there going up, or down.
    std::vector<std::array<int, 2>> turns(std::size_t(size_), {0, 0});
    int most = 0;
    for (const Rank from : nearest) {
        distance_[at(from, to)] = std::uint16_t(steps[std::size_t(from)]);
        if (from == to) continue;
        int fewest = unreached;
        std::vector<int> ways;
        for (int i = 0; i < 2 * dimensions_; ++i) {
            const Rank next = ends_[std::size_t(from)][std::size_t(i)];
            if (next < 0 || steps[std::size_t(next)] != steps[std::size_t(from)] - 1) continue;
            const int rest = turns[std::size_t(next)][leads_up(from, next) ? 0 : 1];
            most = std::max(most, rest);
            if (rest < fewest) ways.clear();
            fewest = std::min(fewest, rest);
            if (rest == fewest) ways.push_back(i);
        }
        choose(from, to, ways);
        const bool up = leads_up(from, next_hop(from, to)->rank);
        turns[std::size_t(from)] = {fewest, fewest + (up ? 1 : 0)};
    }
    return 1 + most;
}

// Paths that go up as long as no path only leads down: from there, each next rank has one, too.
void Graph::find_up_down(Rank to) {
    std::vector<int> down(std::size_t(size_), unreached);
    std::vector<Rank> found{to};
    down[std::size_t(to)] = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
        for (const Rank above : ends_[std::size_t(found[i])])
            if (above >= 0 && leads_up(found[i], above) && down[std::size_t(above)] == unreached) {
                down[std::size_t(above)] = down[std::size_t(found[i])] + 1;
                found.push_back(above);
            }
    distance_[at(to, to)] = 0;
    for (const Rank from : by_order_) {
        if (from == to) continue;
        const bool falls = down[std::size_t(from)] != unreached;
        int nearest = unreached;
        std::vector<int> ways;
        for (int i = 0; i < 2 * dimensions_; ++i) {
            const Rank next = ends_[std::size_t(from)][std::size_t(i)];
            if (next < 0 || leads_up(from, next) == falls) continue;
            const int rest = falls ? down[std::size_t(next)] : int(distance_[at(next, to)]);
            if (rest == unreached) continue;
            if (rest < nearest) ways.clear();
            nearest = std::min(nearest, rest);
            if (rest == nearest) ways.push_back(i);
        }
        choose(from, to, ways);
        distance_[at(from, to)] = std::uint16_t(nearest + 1);
    }
}

std::optional<Hop> Graph::next_hop(Rank from, Rank to) const {
    if (from == to) return std::nullopt;
    const int way = next_[at(from, to)];
    return Hop{Direction::from_index(way), ends_[std::size_t(from)][std::size_t(way)]};
}

bool Graph::may_begin(Rank from, Direction direction, Rank to) const {
    const auto next = neighbour(from, direction);
    if (!next || from == to) return false;
    return shortest_ ? distance(*next, to) == distance(from, to) - 1
                     : *next == next_hop(from, to)->rank;
}

}  // namespace torusmp::routing

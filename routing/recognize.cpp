// SPDX-License-Identifier: BSD-3-Clause
#include "routing/recognize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "routing/cable_graph.h"

namespace torusmp::routing {

namespace {

class UnionFind {
  public:
    explicit UnionFind(std::size_t size) : parent_(size) {
        std::iota(parent_.begin(), parent_.end(), 0);
    }
    int find(int i) {
        while (parent_[std::size_t(i)] != i) {
            int& up = parent_[std::size_t(i)];
            up = parent_[std::size_t(up)];
            i = up;
        }
        return i;
    }
    void join(int a, int b) { parent_[std::size_t(find(a))] = find(b); }

    // A number for each set, from 0 in the order of their first members.
    std::vector<int> numbered() {
        std::vector<int> number(parent_.size(), -1), of(parent_.size());
        int next = 0;
        for (std::size_t i = 0; i < parent_.size(); ++i) {
            int& set = number[std::size_t(find(int(i)))];
            if (set < 0) set = next++;
            of[i] = set;
        }
        return of;
    }

  private:
    std::vector<int> parent_;
};

// One dimension: a ring or a line, and each node's place in it.
struct Factor {
    int extent = 0;
    bool periodic = false;
    std::vector<int> place;  // by node
    std::set<int> ports;     // used by its cables

    bool single() const { return extent == 2 && !periodic; }
};

class Recognizer {
  public:
    Recognizer(std::span<const std::string> names, std::span<const Cable> cables)
        : graph_(names, cables) {}

    Recognized run() {
        find_factors();
        join_rings_of_four();
        check_product();
        for (Factor& factor : factors_) orient(factor);
        order_factors();
        return number_nodes();
    }

  private:
    // ---- Prime factors ----

    // The relation of Djokovic and Winkler between two edges, by the distances of their ends.
    bool related(const CableGraph::Edge& e, const CableGraph::Edge& f) const {
        return graph_.distance(e.u, f.u) + graph_.distance(e.v, f.v) !=
               graph_.distance(e.u, f.v) + graph_.distance(e.v, f.u);
    }

    // Edges x-y and x-z belong to one factor if x is the only common neighbour of y and z.
    void join_without_square(UnionFind& classes) const {
        for (int y = 0; y < int(graph_.nodes()); ++y) {
            std::map<int, std::vector<int>> common;  // z -> the nodes next to both
            for (const int first : graph_.around(y)) {
                const int x = graph_.edge(first).other(y);
                for (const int second : graph_.around(x))
                    common[graph_.edge(second).other(x)].push_back(x);
            }
            for (const auto& [z, between] : common)
                if (z > y && between.size() == 1)
                    classes.join(graph_.edge_between(between[0], y),
                                 graph_.edge_between(between[0], z));
        }
    }

    void find_factors() {
        UnionFind classes(graph_.edges().size());
        join_without_square(classes);
        for (std::size_t e = 0; e < graph_.edges().size(); ++e)
            for (std::size_t f = e + 1; f < graph_.edges().size(); ++f)
                if (classes.find(int(e)) != classes.find(int(f)) &&
                    related(graph_.edges()[e], graph_.edges()[f]))
                    classes.join(int(e), int(f));
        const std::vector<int> class_of = classes.numbered();
        const int count =
            class_of.empty() ? 0 : 1 + *std::max_element(class_of.begin(), class_of.end());
        for (int i = 0; i < count; ++i) factors_.push_back(make_factor(class_of, i));
    }

    // Nodes joined by edges of the other factors have the same place in this factor.
    std::vector<int> layers(const std::vector<int>& class_of, int wanted) const {
        UnionFind joined(graph_.nodes());
        for (std::size_t e = 0; e < graph_.edges().size(); ++e)
            if (class_of[e] != wanted) joined.join(graph_.edges()[e].u, graph_.edges()[e].v);
        return joined.numbered();
    }

    Factor make_factor(const std::vector<int>& class_of, int wanted) const {
        Factor factor;
        const std::vector<int> layer = layers(class_of, wanted);
        factor.extent = 1 + *std::max_element(layer.begin(), layer.end());
        std::vector<std::set<int>> next(static_cast<std::size_t>(factor.extent));
        std::set<std::size_t> cables;
        for (std::size_t e = 0; e < graph_.edges().size(); ++e) {
            if (class_of[e] != wanted) continue;
            const CableGraph::Edge& edge = graph_.edges()[e];
            const int a = layer[std::size_t(edge.u)], b = layer[std::size_t(edge.v)];
            next[std::size_t(a)].insert(b);
            next[std::size_t(b)].insert(a);
            cables.insert(edge.cables.size());
            for (const int cable : edge.cables) {
                factor.ports.insert(graph_.cable(cable).a.port);
                factor.ports.insert(graph_.cable(cable).b.port);
            }
        }
        const std::vector<int> order = walk(next);
        factor.periodic = factor.extent > 2 && next[std::size_t(order[0])].size() == 2;
        if (cables.size() != 1 || (*cables.begin() == 2 && factor.extent != 2))
            throw NoTorus(graph_.uneven());
        if (*cables.begin() == 2) factor.periodic = true;
        std::vector<int> place_of(std::size_t(factor.extent));
        for (std::size_t i = 0; i < order.size(); ++i) place_of[std::size_t(order[i])] = int(i);
        for (const int at : layer) factor.place.push_back(place_of[std::size_t(at)]);
        return factor;
    }

    // The layers in the order of the ring or line that they form.
    std::vector<int> walk(const std::vector<std::set<int>>& next) const {
        int start = 0;
        for (std::size_t i = 0; i < next.size(); ++i) {
            if (next[i].empty() || next[i].size() > 2 || next[i].count(int(i)))
                throw NoTorus(graph_.uneven());
            if (next[i].size() == 1) start = int(i);
        }
        std::vector<int> order{start};
        for (int before = -1;;) {
            const int at = order.back();
            int ahead = -1;
            for (const int to : next[std::size_t(at)])
                if (to != before && ahead < 0) ahead = to;
            if (ahead < 0 || ahead == start) break;
            before = at;
            order.push_back(ahead);
        }
        if (order.size() != next.size()) throw NoTorus(graph_.uneven());
        return order;
    }

    // ---- Dimensions ----

    static std::size_t shared_ports(const Factor& a, const Factor& b) {
        return std::size_t(std::count_if(a.ports.begin(), a.ports.end(),
                                         [&](int port) { return b.ports.count(port) != 0; }));
    }

    // A ring of four factors into two single edges. Edges that use the same ports belong together;
    // edges whose two ports no other edge uses are an open dimension of two; the rest is paired in
    // order.
    void join_rings_of_four() {
        while (join_pair([](const Factor& a, const Factor& b) { return shared_ports(a, b); })) {
        }
        while (join_pair([](const Factor& a, const Factor& b) {
            return std::size_t(a.ports.size() > 2 && b.ports.size() > 2);
        })) {
        }
        while (factors_.size() > std::size_t(max_dimensions) &&
               join_pair([](const Factor&, const Factor&) { return std::size_t(1); })) {
        }
        if (factors_.size() > std::size_t(max_dimensions))
            throw NoTorus(fmt::format("they make a torus of {} dimensions: expected at most {}",
                                      factors_.size(), max_dimensions));
    }

    // Joins the two single edges with the highest score; false if no score is above 0.
    template <class Score>
    bool join_pair(Score score) {
        std::size_t best = 0, first = 0, second = 0;
        for (std::size_t i = 0; i < factors_.size(); ++i)
            for (std::size_t j = i + 1; j < factors_.size(); ++j) {
                if (!factors_[i].single() || !factors_[j].single()) continue;
                const std::size_t points = score(factors_[i], factors_[j]);
                if (points > best) best = points, first = i, second = j;
            }
        if (best == 0) return false;
        Factor& ring = factors_[first];
        ring.extent = 4;
        ring.periodic = true;
        for (std::size_t node = 0; node < graph_.nodes(); ++node) {
            const int across = factors_[second].place[node];
            ring.place[node] = across == 0 ? ring.place[node] : 3 - ring.place[node];
        }
        ring.ports.insert(factors_[second].ports.begin(), factors_[second].ports.end());
        factors_.erase(factors_.begin() + std::ptrdiff_t(second));
        return true;
    }

    void check_product() const {
        std::size_t product = 1;
        for (const Factor& factor : factors_) product *= std::size_t(factor.extent);
        if (product != graph_.nodes()) throw NoTorus(graph_.uneven());
    }

    // The neighbour of node 0 that is `step` further in a factor; -1 if none.
    int neighbour_of_first(const Factor& factor, int step) const {
        for (const int edge : graph_.around(0)) {
            const int node = graph_.edge(edge).other(0);
            const int there = factor.place[std::size_t(node)], here = factor.place[0];
            if (there == here) continue;
            if (there == (here + step + factor.extent) % factor.extent) return node;
        }
        return -1;
    }

    void reverse(Factor& factor) const {
        for (int& place : factor.place) place = factor.extent - 1 - place;
    }

    // Node 0 comes first in a ring, and in the lower half of a line; of the two orientations, the
    // one is taken in which the next place holds its neighbour with the lower number.
    void orient(Factor& factor) const {
        if (!factor.periodic && 2 * factor.place[0] > factor.extent - 1) reverse(factor);
        const bool middle = 2 * factor.place[0] == factor.extent - 1;
        if (factor.periodic || middle) {
            const int up = neighbour_of_first(factor, +1), down = neighbour_of_first(factor, -1);
            if (up >= 0 && down >= 0 && down < up) reverse(factor);
        }
        if (!factor.periodic) return;
        const int shift = factor.extent - factor.place[0];
        for (int& place : factor.place) place = (place + shift) % factor.extent;
    }

    // The last dimension is the one whose neighbour of node 0 has the lowest number.
    void order_factors() {
        std::stable_sort(factors_.begin(), factors_.end(), [&](const Factor& a, const Factor& b) {
            return neighbour_of_first(a, +1) > neighbour_of_first(b, +1);
        });
    }

    // ---- Numbers, and verification ----

    Torus make_torus() const {
        std::vector<int> extents;
        std::vector<bool> periodic;
        for (const Factor& factor : factors_) {
            extents.push_back(factor.extent);
            periodic.push_back(factor.periodic);
        }
        if (extents.empty()) return Torus(std::vector<int>{1});
        return Torus(extents, periodic);
    }

    Recognized number_nodes() {
        Recognized result{make_torus(), std::vector<Rank>(graph_.nodes()), {}};
        result.ports.resize(graph_.nodes());
        for (auto& ports : result.ports) ports.fill(Recognized::no_port);
        std::vector<int> node_at(graph_.nodes(), -1);
        for (std::size_t node = 0; node < graph_.nodes(); ++node) {
            Coordinates coordinates{};
            for (std::size_t d = 0; d < factors_.size(); ++d)
                coordinates[d] = factors_[d].place[node];
            const Rank rank = result.torus.rank(coordinates);
            result.rank_of[node] = rank;
            if (std::exchange(node_at[std::size_t(rank)], int(node)) >= 0)
                throw NoTorus(graph_.uneven());
        }
        std::size_t placed = 0;
        for (int d = 0; d < result.torus.dimensions(); ++d)
            placed += place_cables(result, node_at, d);
        if (placed != graph_.cables()) throw NoTorus(graph_.uneven());
        return result;
    }

    // Assigns a cable to every link of a dimension; all must exist.
    std::size_t place_cables(Recognized& result, const std::vector<int>& node_at, int dimension) {
        const Direction up{dimension, +1};
        const bool two = result.torus.extent(dimension) == 2 && result.torus.periodic(dimension);
        std::size_t placed = 0;
        for (Rank rank = 0; rank < result.torus.size(); ++rank) {
            const auto next = result.torus.neighbour(rank, up);
            if (!next || (two && result.torus.coordinates(rank)[std::size_t(dimension)] == 1))
                continue;
            const int u = node_at[std::size_t(rank)], v = node_at[std::size_t(*next)];
            std::vector<int> cables;
            for (const int edge : graph_.around(u))
                if (graph_.edge(edge).other(u) == v) cables = graph_.edge(edge).cables;
            if (cables.size() != (two ? 2u : 1u)) throw NoTorus(graph_.uneven());
            if (two) sort_pair(cables, u, v, result, dimension);
            place(result, cables[0], u, up, v);
            if (two) place(result, cables[1], v, up, u);
            placed += cables.size();
        }
        return placed;
    }

    int port_at(int cable, int node) const {
        const Cable& found = graph_.cable(cable);
        return found.a.node == node ? found.a.port : found.b.port;
    }

    void place(Recognized& result, int cable, int from, Direction direction, int to) const {
        result.ports[std::size_t(from)][std::size_t(direction.index())] = port_at(cable, from);
        result.ports[std::size_t(to)][std::size_t(direction.opposite().index())] =
            port_at(cable, to);
    }

    // If two cables connect two nodes, either may be the link in direction +. Chooses as for node 0
    // and its peer, by the ports, so that as many nodes as possible share a table of links.
    void sort_pair(std::vector<int>& cables, int u, int v, const Recognized& result,
                   int dimension) const {
        const auto up = std::size_t(Direction{dimension, +1}.index());
        const auto down = std::size_t(Direction{dimension, -1}.index());
        const auto& first = result.ports[std::size_t(first_node(result))];
        if (first[up] == Recognized::no_port) {
            if (port_at(cables[1], u) < port_at(cables[0], u)) std::swap(cables[0], cables[1]);
            return;
        }
        const auto score = [&](int one, int other_one) {
            return (port_at(one, u) == first[up]) + (port_at(other_one, v) == first[up]) +
                   (port_at(other_one, u) == first[down]) + (port_at(one, v) == first[down]);
        };
        if (score(cables[1], cables[0]) > score(cables[0], cables[1]))
            std::swap(cables[0], cables[1]);
    }

    // The node of rank 0, whose cables are placed first.
    static int first_node(const Recognized& result) {
        return int(std::find(result.rank_of.begin(), result.rank_of.end(), 0) -
                   result.rank_of.begin());
    }

    CableGraph graph_;
    std::vector<Factor> factors_;
};

}  // namespace

Recognition recognize_torus(std::span<const std::string> names, std::span<const Cable> cables) {
    try {
        return {Recognizer(names, cables).run(), {}};
    } catch (const NoTorus& why) {
        return {std::nullopt, why.what()};
    }
}

}  // namespace torusmp::routing

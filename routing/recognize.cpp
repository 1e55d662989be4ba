#include "routing/recognize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

namespace torusmp::routing {

namespace {

// Why there is no torus; caught in recognize_torus().
class NoTorus : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

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

// All cables between the same two nodes, u < v.
struct Edge {
    int u = 0, v = 0;
    std::vector<int> cables;
};

// One dimension: a ring or a line, and each node's place in it.
struct Factor {
    int extent = 0;
    bool periodic = false;
    std::vector<int> place;  // by node
    std::set<int> ports;     // that its cables use

    bool single() const { return extent == 2 && !periodic; }
};

class Recognizer {
  public:
    Recognizer(std::span<const std::string> names, std::span<const Cable> cables)
        : names_(names), cables_(cables) {}

    Recognized run() {
        if (names_.empty()) throw NoTorus("there are no nodes");
        collect_edges();
        measure_distances();
        find_factors();
        join_rings_of_four();
        check_product();
        for (Factor& factor : factors_) orient(factor);
        order_factors();
        return number_nodes();
    }

  private:
    std::size_t nodes() const { return names_.size(); }
    const std::string& name(int node) const { return names_[std::size_t(node)]; }

    // ---- The graph ----

    void check_end(const CableEnd& end, std::set<std::pair<int, int>>& used) const {
        if (end.node < 0 || std::size_t(end.node) >= nodes())
            throw NoTorus(fmt::format("a cable ends at node {}, which is not there", end.node));
        if (!used.insert({end.node, end.port}).second)
            throw NoTorus(fmt::format("two cables end at one port of {}", name(end.node)));
    }

    void collect_edges() {
        std::map<std::pair<int, int>, std::vector<int>> between;
        std::set<std::pair<int, int>> used;
        degree_.assign(nodes(), 0);
        for (std::size_t i = 0; i < cables_.size(); ++i) {
            const Cable& cable = cables_[i];
            check_end(cable.a, used);
            check_end(cable.b, used);
            if (cable.a.node == cable.b.node)
                throw NoTorus(fmt::format("a cable joins {} to itself", name(cable.a.node)));
            ++degree_[std::size_t(cable.a.node)];
            ++degree_[std::size_t(cable.b.node)];
            between[std::minmax(cable.a.node, cable.b.node)].push_back(int(i));
        }
        around_.resize(nodes());
        for (auto& [ends, list] : between) {
            if (list.size() > 2)
                throw NoTorus(fmt::format("{} cables join {} and {}: expected at most two",
                                          list.size(), name(ends.first), name(ends.second)));
            around_[std::size_t(ends.first)].push_back(int(edges_.size()));
            around_[std::size_t(ends.second)].push_back(int(edges_.size()));
            edges_.push_back({ends.first, ends.second, std::move(list)});
        }
    }

    int other(const Edge& edge, int node) const { return edge.u == node ? edge.v : edge.u; }

    std::vector<int> distances_from(int start) const {
        std::vector<int> distance(nodes(), -1), queue{start};
        distance[std::size_t(start)] = 0;
        for (std::size_t i = 0; i < queue.size(); ++i)
            for (const int edge : around_[std::size_t(queue[i])]) {
                const int next = other(edges_[std::size_t(edge)], queue[i]);
                if (distance[std::size_t(next)] >= 0) continue;
                distance[std::size_t(next)] = distance[std::size_t(queue[i])] + 1;
                queue.push_back(next);
            }
        return distance;
    }

    void measure_distances() {
        for (std::size_t node = 0; node < nodes(); ++node) {
            distance_.push_back(distances_from(int(node)));
            if (node > 0) continue;
            const auto apart = std::find(distance_[0].begin(), distance_[0].end(), -1);
            if (apart != distance_[0].end())
                throw NoTorus(fmt::format("no cables lead from {} to {}: the machine is in pieces",
                                          name(0), name(int(apart - distance_[0].begin()))));
        }
    }

    int distance(int a, int b) const { return distance_[std::size_t(a)][std::size_t(b)]; }

    // ---- Prime factors ----

    // Djokovic and Winkler: the edge f does not look equally far from both ends of e.
    bool related(const Edge& e, const Edge& f) const {
        return distance(e.u, f.u) + distance(e.v, f.v) != distance(e.u, f.v) + distance(e.v, f.u);
    }

    // Edges x-y and x-z belong to one factor where nothing but x joins y and z.
    void join_without_square(UnionFind& classes) const {
        for (int y = 0; y < int(nodes()); ++y) {
            std::map<int, std::vector<int>> common;  // z -> the nodes next to both
            for (const int first : around_[std::size_t(y)]) {
                const int x = other(edges_[std::size_t(first)], y);
                for (const int second : around_[std::size_t(x)])
                    common[other(edges_[std::size_t(second)], x)].push_back(x);
            }
            for (const auto& [z, between] : common)
                if (z > y && between.size() == 1)
                    classes.join(edge_between(between[0], y), edge_between(between[0], z));
        }
    }

    int edge_between(int a, int b) const {
        for (const int edge : around_[std::size_t(a)])
            if (other(edges_[std::size_t(edge)], a) == b) return edge;
        throw std::logic_error("neighbours without an edge");
    }

    void find_factors() {
        UnionFind classes(edges_.size());
        join_without_square(classes);
        for (std::size_t e = 0; e < edges_.size(); ++e)
            for (std::size_t f = e + 1; f < edges_.size(); ++f)
                if (classes.find(int(e)) != classes.find(int(f)) && related(edges_[e], edges_[f]))
                    classes.join(int(e), int(f));
        const std::vector<int> class_of = classes.numbered();
        const int count =
            class_of.empty() ? 0 : 1 + *std::max_element(class_of.begin(), class_of.end());
        for (int i = 0; i < count; ++i) factors_.push_back(make_factor(class_of, i));
    }

    // Nodes that the other factors' edges join stand at one place of this factor.
    std::vector<int> layers(const std::vector<int>& class_of, int wanted) const {
        UnionFind joined(nodes());
        for (std::size_t e = 0; e < edges_.size(); ++e)
            if (class_of[e] != wanted) joined.join(edges_[e].u, edges_[e].v);
        return joined.numbered();
    }

    Factor make_factor(const std::vector<int>& class_of, int wanted) const {
        Factor factor;
        const std::vector<int> layer = layers(class_of, wanted);
        factor.extent = 1 + *std::max_element(layer.begin(), layer.end());
        std::vector<std::set<int>> next(static_cast<std::size_t>(factor.extent));
        std::set<std::size_t> cables;
        for (std::size_t e = 0; e < edges_.size(); ++e) {
            if (class_of[e] != wanted) continue;
            const Edge& edge = edges_[e];
            const int a = layer[std::size_t(edge.u)], b = layer[std::size_t(edge.v)];
            next[std::size_t(a)].insert(b);
            next[std::size_t(b)].insert(a);
            cables.insert(edge.cables.size());
            for (const int cable : edge.cables) {
                factor.ports.insert(cables_[std::size_t(cable)].a.port);
                factor.ports.insert(cables_[std::size_t(cable)].b.port);
            }
        }
        const std::vector<int> order = walk(next);
        factor.periodic = factor.extent > 2 && next[std::size_t(order[0])].size() == 2;
        if (cables.size() != 1 || (*cables.begin() == 2 && factor.extent != 2))
            throw NoTorus(uneven());
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
                throw NoTorus(uneven());
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
        if (order.size() != next.size()) throw NoTorus(uneven());
        return order;
    }

    // What to say of cables that form no product of rings and lines. Where nearly all nodes have
    // the same number of cables, the others are the ones to look at.
    std::string uneven() const {
        std::map<int, int> count;
        for (const int degree : degree_) ++count[degree];
        const auto usual =
            std::max_element(count.begin(), count.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        std::vector<std::string> odd;
        for (std::size_t i = 0; i < nodes(); ++i)
            if (degree_[i] != usual->first && odd.size() < 8)
                odd.push_back(fmt::format("{} ({})", name(int(i)), degree_[i]));
        const bool telling = !odd.empty() && usual->second * 2 > int(nodes());
        if (telling)
            return fmt::format("{} nodes have {} cables, but {} not: is a cable missing or dead?",
                               usual->second, usual->first, fmt::join(odd, ", "));
        return "they are no product of rings and lines: are cables missing, or two exchanged?";
    }

    // ---- Dimensions ----

    static std::size_t shared_ports(const Factor& a, const Factor& b) {
        return std::size_t(std::count_if(a.ports.begin(), a.ports.end(),
                                         [&](int port) { return b.ports.count(port) != 0; }));
    }

    // A ring of four comes apart into two single edges. Those that use the same ports belong
    // together; edges whose two ports nobody else uses are an open dimension of two; what is left
    // is paired as it comes.
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

    // Joins the two single edges with the highest score; false where no score is above 0.
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
        for (std::size_t node = 0; node < nodes(); ++node) {
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
        if (product != nodes()) throw NoTorus(uneven());
    }

    // The neighbour of node 0 that stands `step` further in a factor; -1: none.
    int neighbour_of_first(const Factor& factor, int step) const {
        for (const int edge : around_[0]) {
            const int node = other(edges_[std::size_t(edge)], 0);
            const int there = factor.place[std::size_t(node)], here = factor.place[0];
            if (there == here) continue;
            if (there == (here + step + factor.extent) % factor.extent) return node;
        }
        return -1;
    }

    void reverse(Factor& factor) const {
        for (int& place : factor.place) place = factor.extent - 1 - place;
    }

    // Node 0 comes first in a ring, and in the lower half of a line; of the two ways round, the
    // next place is that of its neighbour with the lower number.
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

    // ---- Numbers, and the proof ----

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
        Recognized result{make_torus(), std::vector<Rank>(nodes()), {}};
        result.ports.resize(nodes());
        for (auto& ports : result.ports) ports.fill(Recognized::no_port);
        std::vector<int> node_at(nodes(), -1);
        for (std::size_t node = 0; node < nodes(); ++node) {
            Coordinates coordinates{};
            for (std::size_t d = 0; d < factors_.size(); ++d)
                coordinates[d] = factors_[d].place[node];
            const Rank rank = result.torus.rank(coordinates);
            result.rank_of[node] = rank;
            if (std::exchange(node_at[std::size_t(rank)], int(node)) >= 0) throw NoTorus(uneven());
        }
        std::size_t placed = 0;
        for (int d = 0; d < result.torus.dimensions(); ++d)
            placed += place_cables(result, node_at, d);
        if (placed != cables_.size()) throw NoTorus(uneven());
        return result;
    }

    // Gives every link of a dimension its cable; all must be there.
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
            for (const int edge : around_[std::size_t(u)])
                if (other(edges_[std::size_t(edge)], u) == v)
                    cables = edges_[std::size_t(edge)].cables;
            if (cables.size() != (two ? 2u : 1u)) throw NoTorus(uneven());
            if (two) sort_pair(cables, u, v, result, dimension);
            place(result, cables[0], u, up, v);
            if (two) place(result, cables[1], v, up, u);
            placed += cables.size();
        }
        return placed;
    }

    int port_at(int cable, int node) const {
        const Cable& found = cables_[std::size_t(cable)];
        return found.a.node == node ? found.a.port : found.b.port;
    }

    void place(Recognized& result, int cable, int from, Direction direction, int to) const {
        result.ports[std::size_t(from)][std::size_t(direction.index())] = port_at(cable, from);
        result.ports[std::size_t(to)][std::size_t(direction.opposite().index())] =
            port_at(cable, to);
    }

    // Of two cables between two nodes either may be the one that leads up. Choose as for node 0 and
    // its peer, by the ports, so that as many nodes as possible share a table of links.
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

    std::span<const std::string> names_;
    std::span<const Cable> cables_;
    std::vector<int> degree_;               // cables of each node
    std::vector<Edge> edges_;               // without the doubles
    std::vector<std::vector<int>> around_;  // by node: its edges
    std::vector<std::vector<int>> distance_;
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

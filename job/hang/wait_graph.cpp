// SPDX-License-Identifier: BSD-3-Clause
#include "job/hang/wait_graph.h"

#include <algorithm>
#include <deque>

namespace torusmp::job {
namespace {

using Node = WaitGraph::Node;
using Edges = std::vector<std::vector<Node>>;

// Strongly connected components (Tarjan, SIAM J. Comput. 1, 1972), without recursion: a job may
// have many ranks.
class Components {
  public:
    explicit Components(const Edges& edges)
        : edges_(edges), index_(edges.size(), -1), low_(edges.size()), of_(edges.size(), -1) {
        for (std::size_t node = 0; node < edges.size(); ++node)
            if (index_[node] < 0) visit(Node(node));
    }
    int of(Node node) const { return of_[std::size_t(node)]; }
    int count() const { return count_; }

  private:
    struct Frame {
        Node node;
        std::size_t next = 0;
    };
    void enter(Node node) {
        index_[std::size_t(node)] = low_[std::size_t(node)] = visited_++;
        open_.push_back(node);
        frames_.push_back({node});
    }
    void visit(Node start) {
        enter(start);
        while (!frames_.empty()) {
            Frame& frame = frames_.back();
            const auto node = std::size_t(frame.node);
            if (frame.next < edges_[node].size()) {
                const auto to = std::size_t(edges_[node][frame.next++]);
                if (index_[to] < 0)
                    enter(Node(to));
                else if (of_[to] < 0)
                    low_[node] = std::min(low_[node], index_[to]);
                continue;
            }
            frames_.pop_back();
            if (!frames_.empty()) {
                int& above = low_[std::size_t(frames_.back().node)];
                above = std::min(above, low_[node]);
            }
            if (low_[node] == index_[node]) close(Node(node));
        }
    }
    void close(Node root) {
        Node node = -1;
        do {
            node = open_.back();
            open_.pop_back();
            of_[std::size_t(node)] = count_;
        } while (node != root);
        ++count_;
    }

    const Edges& edges_;
    std::vector<int> index_, low_, of_;
    std::vector<Node> open_;
    std::vector<Frame> frames_;
    int visited_ = 0;
    int count_ = 0;
};

}  // namespace

// The complement of the nodes that can continue: nodes that do not wait, and nodes all of whose
// clauses contain one that can.
std::vector<bool> WaitGraph::stuck() const {
    std::vector<bool> stuck(nodes_.size());
    std::vector<std::size_t> unmet(nodes_.size());
    // The clauses that contain a node.
    struct Place {
        std::size_t node, clause;
    };
    std::vector<std::vector<Place>> places(nodes_.size());
    std::vector<std::vector<bool>> met(nodes_.size());
    std::deque<Node> live;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        const auto& clauses = nodes_[node].clauses;
        unmet[node] = clauses.size();
        met[node].assign(clauses.size(), false);
        stuck[node] = !clauses.empty();
        for (std::size_t i = 0; i < clauses.size(); ++i)
            for (const Node other : clauses[i]) places[std::size_t(other)].push_back({node, i});
        if (clauses.empty() && !nodes_[node].gone) live.push_back(Node(node));
    }
    while (!live.empty()) {
        const auto node = std::size_t(live.front());
        live.pop_front();
        for (const Place& place : places[node]) {
            if (met[place.node][place.clause]) continue;
            met[place.node][place.clause] = true;
            if (--unmet[place.node] != 0) continue;
            stuck[place.node] = false;
            live.push_back(Node(place.node));
        }
    }
    return stuck;
}

std::vector<std::vector<Node>> WaitGraph::blockers(const std::vector<bool>& stuck) const {
    Edges edges(nodes_.size());
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        if (!stuck[node]) continue;
        for (const auto& clause : nodes_[node].clauses) {
            const auto fulfils = [&](Node other) {
                return !stuck[std::size_t(other)] && !gone(other);
            };
            if (std::any_of(clause.begin(), clause.end(), fulfils)) continue;
            for (const Node other : clause)
                if (stuck[std::size_t(other)]) edges[node].push_back(other);
        }
        std::sort(edges[node].begin(), edges[node].end());
        edges[node].erase(std::unique(edges[node].begin(), edges[node].end()), edges[node].end());
    }
    return edges;
}

std::vector<std::vector<Node>> WaitGraph::knots() const {
    const std::vector<bool> stuck = this->stuck();
    const Edges edges = blockers(stuck);
    const Components components(edges);
    std::vector<bool> leaves(std::size_t(components.count()));
    for (std::size_t node = 0; node < nodes_.size(); ++node)
        for (const Node other : edges[node])
            if (components.of(other) != components.of(Node(node)))
                leaves[std::size_t(components.of(Node(node)))] = true;
    std::vector<std::vector<Node>> by_component(std::size_t(components.count()));
    for (std::size_t node = 0; node < nodes_.size(); ++node)
        if (stuck[node] && !leaves[std::size_t(components.of(Node(node)))])
            by_component[std::size_t(components.of(Node(node)))].push_back(Node(node));
    std::erase_if(by_component, [](const auto& knot) { return knot.empty(); });
    std::sort(by_component.begin(), by_component.end());
    return by_component;
}

std::vector<Node> WaitGraph::circle(const std::vector<Node>& knot) const {
    const Edges edges = blockers(stuck());
    std::vector<bool> inside(nodes_.size());
    for (const Node node : knot) inside[std::size_t(node)] = true;
    std::vector<Node> best;
    for (const Node start : knot) {
        if (!best.empty() && best.size() <= 2) break;
        std::vector<Node> from(nodes_.size(), -1);
        std::deque<Node> next{start};
        bool closed = false;
        while (!next.empty() && !closed) {
            const Node node = next.front();
            next.pop_front();
            for (const Node other : edges[std::size_t(node)]) {
                if (!inside[std::size_t(other)] || from[std::size_t(other)] >= 0) continue;
                from[std::size_t(other)] = node;
                closed = other == start;
                if (closed) break;
                next.push_back(other);
            }
        }
        if (!closed) continue;
        std::vector<Node> found;
        Node node = start;
        do {
            node = from[std::size_t(node)];
            found.push_back(node);
        } while (node != start);
        std::reverse(found.begin(), found.end());
        if (best.empty() || found.size() < best.size()) best = std::move(found);
    }
    if (!best.empty())
        std::rotate(best.begin(), std::min_element(best.begin(), best.end()), best.end());
    return best;
}

std::vector<std::vector<Node>> WaitGraph::roots() const {
    std::vector<std::vector<Node>> all(nodes_.size());
    std::vector<std::size_t> seen(nodes_.size(), nodes_.size());
    for (std::size_t start = 0; start < nodes_.size(); ++start) {
        if (nodes_[start].clauses.empty()) continue;
        std::vector<Node> next{Node(start)};
        seen[start] = start;
        while (!next.empty()) {
            const auto node = std::size_t(next.back());
            next.pop_back();
            if (nodes_[node].clauses.empty()) all[start].push_back(Node(node));
            for (const auto& clause : nodes_[node].clauses)
                for (const Node other : clause)
                    if (seen[std::size_t(other)] != start) {
                        seen[std::size_t(other)] = start;
                        next.push_back(other);
                    }
        }
        std::sort(all[start].begin(), all[start].end());
    }
    return all;
}

}  // namespace torusmp::job

// SPDX-License-Identifier: BSD-3-Clause
// The graph of nodes and cables in which recognize.h looks for a torus.
//
// Immutable after construction. Used by one call of recognize_torus(), whose names and cables it
// refers to.
#pragma once

#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "routing/recognize.h"

namespace torusmp::routing {

// The reason why the cables do not form a torus; caught in recognize_torus().
class NoTorus : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class CableGraph {
  public:
    // All cables between the same two nodes, u < v.
    struct Edge {
        int u = 0, v = 0;
        std::vector<int> cables;

        int other(int node) const { return u == node ? v : u; }
    };

    // Throws NoTorus if the cables cannot form a torus, or do not connect all nodes.
    CableGraph(std::span<const std::string> names, std::span<const Cable> cables);

    std::size_t nodes() const { return names_.size(); }
    std::size_t cables() const { return cables_.size(); }
    const Cable& cable(int number) const { return cables_[std::size_t(number)]; }
    const std::vector<Edge>& edges() const { return edges_; }
    const Edge& edge(int number) const { return edges_[std::size_t(number)]; }
    // The edges of a node.
    const std::vector<int>& around(int node) const { return around_[std::size_t(node)]; }
    // The edge between two neighbours.
    int edge_between(int a, int b) const;
    int distance(int a, int b) const { return distance_[std::size_t(a)][std::size_t(b)]; }

    // The error text for cables that do not form a product of rings and lines. If nearly all nodes
    // have the same number of cables, it names the other nodes.
    std::string uneven() const;

  private:
    const std::string& name(int node) const { return names_[std::size_t(node)]; }
    void check_end(const CableEnd& end, std::set<std::pair<int, int>>& used) const;
    void collect_edges();
    std::vector<int> distances_from(int start) const;
    void measure_distances();

    std::span<const std::string> names_;
    std::span<const Cable> cables_;
    std::vector<int> degree_;               // number of cables, by node
    std::vector<Edge> edges_;               // without duplicates
    std::vector<std::vector<int>> around_;  // edges, by node
    std::vector<std::vector<int>> distance_;
};

}  // namespace torusmp::routing

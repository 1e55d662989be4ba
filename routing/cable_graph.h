// SPDX-License-Identifier: BSD-3-Clause
// The graph of nodes and cables in which recognize.h looks for a torus.
//
// Immutable once made. Used by one call of recognize_torus(), whose names and cables it refers to.
#pragma once

#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "routing/recognize.h"

namespace torusmp::routing {

// Why there is no torus; caught in recognize_torus().
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

    // Throws NoTorus where the cables cannot be those of a torus, or do not connect all nodes.
    CableGraph(std::span<const std::string> names, std::span<const Cable> cables);

    std::size_t nodes() const { return names_.size(); }
    std::size_t cables() const { return cables_.size(); }
    const Cable& cable(int number) const { return cables_[std::size_t(number)]; }
    const std::vector<Edge>& edges() const { return edges_; }
    const Edge& edge(int number) const { return edges_[std::size_t(number)]; }
    // The edges of a node.
    const std::vector<int>& around(int node) const { return around_[std::size_t(node)]; }
    // Of two neighbours.
    int edge_between(int a, int b) const;
    int distance(int a, int b) const { return distance_[std::size_t(a)][std::size_t(b)]; }

    // What to say of cables that form no product of rings and lines. Where nearly all nodes have
    // the same number of cables, the others are the ones to look at.
    std::string uneven() const;

  private:
    const std::string& name(int node) const { return names_[std::size_t(node)]; }
    void check_end(const CableEnd& end, std::set<std::pair<int, int>>& used) const;
    void collect_edges();
    std::vector<int> distances_from(int start) const;
    void measure_distances();

    std::span<const std::string> names_;
    std::span<const Cable> cables_;
    std::vector<int> degree_;               // cables of each node
    std::vector<Edge> edges_;               // without the doubles
    std::vector<std::vector<int>> around_;  // by node: its edges
    std::vector<std::vector<int>> distance_;
};

}  // namespace torusmp::routing

// SPDX-License-Identifier: BSD-3-Clause
// The graph of waits between ranks, reduced to the ranks that cause them. Pure: numbers and sets.
//
// A node needs all of its clauses, and of each clause one node. Nodes without clauses continue by
// themselves, or are gone. This determines the nodes that can never continue, and among those the
// groups on which all others depend.
#pragma once

#include <cstddef>
#include <vector>

namespace torusmp::job {

class WaitGraph {
  public:
    using Node = int;
    explicit WaitGraph(int nodes) : nodes_(std::size_t(nodes)) {}

    int size() const { return int(nodes_.size()); }
    // The node waits for one of these; any number of clauses. An empty clause can never be
    // fulfilled.
    void need(Node node, std::vector<Node> any_of) {
        nodes_[std::size_t(node)].clauses.push_back(std::move(any_of));
    }
    // The node will never send anything again. It has no clauses.
    void bury(Node node) { nodes_[std::size_t(node)].gone = true; }

    bool waits(Node node) const { return !nodes_[std::size_t(node)].clauses.empty(); }
    bool gone(Node node) const { return nodes_[std::size_t(node)].gone; }
    const std::vector<std::vector<Node>>& clauses(Node node) const {
        return nodes_[std::size_t(node)].clauses;
    }

    // Whether each node waits forever.
    std::vector<bool> stuck() const;
    // Groups of stuck nodes that do not depend on a stuck node outside the group: each is a circle
    // of dependences, or a single node that waits for a node that is gone. Every stuck node depends
    // on one of these groups. Ascending.
    std::vector<std::vector<Node>> knots() const;
    // A shortest circle through nodes of the knot, beginning at its lowest node; empty if there is
    // none.
    std::vector<Node> circle(const std::vector<Node>& knot) const;
    // Nodes that do not wait, and on which a node depends; by node.
    std::vector<std::vector<Node>> roots() const;

  private:
    struct Entry {
        std::vector<std::vector<Node>> clauses;
        bool gone = false;
    };
    // The stuck nodes for which each node waits in clauses that cannot be fulfilled.
    std::vector<std::vector<Node>> blockers(const std::vector<bool>& stuck) const;

    std::vector<Entry> nodes_;
};

}  // namespace torusmp::job

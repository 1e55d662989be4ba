// SPDX-License-Identifier: BSD-3-Clause
// Who waits for whom, reduced to who is the cause. Pure: numbers and sets.
//
// A node needs all of its clauses, and of each clause one node. Nodes without clauses go on by
// themselves, or are gone for good. From that follows which nodes can never go on, however long
// one waits; and of those, the groups on which all others depend.
#pragma once

#include <cstddef>
#include <vector>

namespace torusmp::job {

class WaitGraph {
  public:
    using Node = int;
    explicit WaitGraph(int nodes) : nodes_(std::size_t(nodes)) {}

    int size() const { return int(nodes_.size()); }
    // The node waits for one of these; any number of clauses. None of them: for nobody, for ever.
    void need(Node node, std::vector<Node> any_of) {
        nodes_[std::size_t(node)].clauses.push_back(std::move(any_of));
    }
    // Nothing will ever come from it. It has no clauses.
    void bury(Node node) { nodes_[std::size_t(node)].gone = true; }

    bool waits(Node node) const { return !nodes_[std::size_t(node)].clauses.empty(); }
    bool gone(Node node) const { return nodes_[std::size_t(node)].gone; }
    const std::vector<std::vector<Node>>& clauses(Node node) const {
        return nodes_[std::size_t(node)].clauses;
    }

    // By node: it waits, and will wait for ever.
    std::vector<bool> stuck() const;
    // Groups of stuck nodes that depend, in what keeps them, on no stuck node outside the group:
    // each is a circle of dependences, or a single node that waits for what is gone. Every stuck
    // node depends on one of them. Ascending.
    std::vector<std::vector<Node>> knots() const;
    // A shortest circle through nodes of the knot, beginning at its lowest node; empty: there is
    // none.
    std::vector<Node> circle(const std::vector<Node>& knot) const;
    // Nodes that do not wait, and on which a node depends; by node.
    std::vector<std::vector<Node>> roots() const;

  private:
    struct Entry {
        std::vector<std::vector<Node>> clauses;
        bool gone = false;
    };
    // Stuck nodes that a stuck node waits for in clauses that nothing can fulfil.
    std::vector<std::vector<Node>> blockers(const std::vector<bool>& stuck) const;

    std::vector<Entry> nodes_;
};

}  // namespace torusmp::job

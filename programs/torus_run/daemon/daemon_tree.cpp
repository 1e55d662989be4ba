// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/daemon_tree.h"

#include <algorithm>

#include "programs/torus_run/daemon/child_daemons.h"

namespace torusmp::launch {

DaemonTree::DaemonTree(std::vector<int> parents, std::optional<routing::Torus> nodes)
    : parents_(std::move(parents)), nodes_(std::move(nodes)), up_(parents_.size()) {}

void DaemonTree::greeted(int node) {
    up_[std::size_t(node)] = true;
}

// Somebody starts it, or has.
bool DaemonTree::begun(int node) const {
    const int parent = parents_[std::size_t(node)];
    return up_[std::size_t(node)] ||
           ((parent < 0 || up_[std::size_t(parent)]) && barred_.count({parent, node}) == 0);
}

// Breadth first from all that are begun: whoever is not gets the first neighbour from which the way
// is not barred.
bool DaemonTree::failed(int node) {
    barred_.insert({parents_[std::size_t(node)], node});
    if (!nodes_) return false;
    std::vector<int> found;
    std::vector<bool> reached(parents_.size());
    for (int it = 0; it < int(parents_.size()); ++it) {
        if (!begun(it)) continue;
        found.push_back(it);
        reached[std::size_t(it)] = true;
    }
    // Those that run are at hand; of the others it is not known yet whether they ever will.
    std::stable_partition(found.begin(), found.end(), [&](int it) { return has_greeted(it); });
    for (std::size_t next = 0; next < found.size(); ++next)
        for (int i = 0; i < 2 * nodes_->dimensions(); ++i) {
            const auto other = nodes_->neighbour(found[next], routing::Direction::from_index(i));
            if (!other || reached[std::size_t(*other)] || barred_.count({found[next], *other}) != 0)
                continue;
            reached[std::size_t(*other)] = true;
            parents_[std::size_t(*other)] = found[next];
            found.push_back(*other);
        }
    return reached[std::size_t(node)];
}

std::vector<int> DaemonTree::behind(int node) const {
    std::vector<int> behind = subtree_of(parents_, node);
    std::erase(behind, node);
    return behind;
}

std::vector<int> DaemonTree::others_that_tried(int node) const {
    std::vector<int> others;
    for (const auto& [parent, child] : barred_)
        if (child == node && parent >= 0 && parent != parents_[std::size_t(node)])
            others.push_back(parent);
    return others;
}

}  // namespace torusmp::launch

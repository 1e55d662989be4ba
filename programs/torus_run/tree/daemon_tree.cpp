// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/tree/daemon_tree.h"

#include <algorithm>

namespace torusmp::torus_run {

std::optional<int> next_on_the_way(const std::vector<int>& parents, int from, int to) {
    for (std::size_t steps = 0; steps < parents.size(); ++steps) {
        if (to < 0 || to >= int(parents.size())) return std::nullopt;
        const int parent = parents[std::size_t(to)];
        if (parent == from) return to;
        to = parent;
    }
    return std::nullopt;
}

std::vector<int> subtree_of(const std::vector<int>& parents, int node) {
    std::vector<int> below;
    for (int i = 0; i < int(parents.size()); ++i)
        if (i == node || next_on_the_way(parents, node, i)) below.push_back(i);
    return below;
}

bool is_reached(const std::vector<int>& parents, const std::vector<int>& missing, int node) {
    for (const int it : missing)
        if (it == node || next_on_the_way(parents, it, node)) return false;
    return true;
}

DaemonTree::DaemonTree(std::vector<int> parents, std::optional<routing::Torus> nodes)
    : parents_(std::move(parents)), nodes_(std::move(nodes)), up_(parents_.size()) {}

void DaemonTree::greeted(int node) {
    up_[std::size_t(node)] = true;
}

// Whether the daemon has been started or is assigned to a parent.
bool DaemonTree::begun(int node) const {
    const int parent = parents_[std::size_t(node)];
    return up_[std::size_t(node)] ||
           ((parent < 0 || up_[std::size_t(parent)]) && barred_.count({parent, node}) == 0);
}

// Breadth first from all assigned nodes: each other node gets the first neighbour whose path is not
// barred.
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
    // Prefers running daemons; it is unknown whether the others will ever run.
    std::stable_partition(found.begin(), found.end(), [&](int it) { return has_greeted(it); });
    for (std::size_t next = 0; next < found.size(); ++next)
        for (int i = 0; i < 2 * nodes_->link_dimensions(); ++i) {
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

// ---- while ranks run ----

bool DaemonTree::is_cut_off(int node) const {
    for (int it = node; it >= 0; it = parents_[std::size_t(it)])
        if (missing_.count(it) != 0) return true;
    return false;
}

std::vector<int> DaemonTree::to_join() const {
    std::vector<int> found;
    for (const int node : missing_)
        if (!is_lost(node) && no_way_.count(node) == 0) found.push_back(node);
    return found;
}

void DaemonTree::joined(int node) {
    missing_.erase(node);
    std::erase_if(barred_,
                  [node](const auto& way) { return way.first == node || way.second == node; });
}

void DaemonTree::give_up(int node) {
    for (const int it : subtree_of(parents_, node)) lost_.insert(it);
}

// Prefers a neighbour other than the one from which it was cut off. A head outside the torus is not
// a neighbour.
std::optional<int> DaemonTree::way_to(int node, const std::vector<bool>& reached) const {
    std::optional<int> found;
    const int before = parents_[std::size_t(node)];
    if (before < 0 && !barred(before, node)) found = before;
    for (int i = 0; i < 2 * nodes_->link_dimensions(); ++i) {
        const auto other = nodes_->neighbour(node, routing::Direction::from_index(i));
        if (!other || !reached[std::size_t(*other)] || barred(*other, node)) continue;
        if (!found || *found == before) found = *other;
    }
    return found;
}

// Nodes below that are still connected to it move with it.
void DaemonTree::adopt(int node, int parent, std::vector<bool>& reached) {
    parents_[std::size_t(node)] = parent;
    missing_.erase(node);
    const auto hangs = [&](int it) {
        while (it != node && missing_.count(it) == 0) it = parents_[std::size_t(it)];
        return it == node;
    };
    for (const int it : subtree_of(parents_, node))
        if (!is_lost(it) && hangs(it)) reached[std::size_t(it)] = true;
    missing_.insert(node);
}

void DaemonTree::cut_off(int node, bool by_this_way) {
    if (!by_this_way) barred_.insert({parents_[std::size_t(node)], node});
    missing_.insert(node);
    enter(node);
}

bool DaemonTree::try_again() {
    if (no_way_.empty()) return false;
    const std::size_t before = no_way_.size();
    barred_.clear();
    enter(std::nullopt);
    return no_way_.size() < before;
}

// Root nodes of connected parts come first: then the part stays as it is. Otherwise the part is
// entered at another node, and its former root is reached from there. A missing node keeps its
// parent if that may still reach it, except for the node that needs another path.
void DaemonTree::enter(std::optional<int> by_another_way) {
    std::vector<int> left;
    std::vector<bool> reached(parents_.size());
    for (int it = 0; it < int(parents_.size()); ++it) {
        if (is_lost(it)) continue;
        reached[std::size_t(it)] = !is_cut_off(it);
        if (is_cut_off(it)) left.push_back(it);
    }
    std::stable_partition(left.begin(), left.end(), [&](int it) { return is_missing(it); });
    const auto enter_one = [&] {
        for (const int it : left) {
            if (reached[std::size_t(it)]) continue;
            const int parent = parents_[std::size_t(it)];
            const bool under_way = it != by_another_way && is_missing(it) &&
                                   (parent < 0 || reached[std::size_t(parent)]) &&
                                   !barred(parent, it);
            const auto way = under_way ? std::optional(parent) : way_to(it, reached);
            if (!way) continue;
            adopt(it, *way, reached);
            return true;
        }
        return false;
    };
    while (enter_one()) continue;
    no_way_.clear();
    for (const int it : left)
        if (!reached[std::size_t(it)]) no_way_.insert(it);
}

}  // namespace torusmp::torus_run

// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/group/routes.h"

#include "collectives/group/bundles.h"
#include "routing/partition.h"
#include "routing/trees.h"

namespace torusmp::collectives {

Routes::Routes(const routing::Torus& torus, int place) : torus_(&torus), place_(place) {}
Routes::~Routes() = default;

const std::vector<TreeLinks>& Routes::trees(Trees kind, int root_place) {
    std::vector<TreeLinks>& links = trees_[{kind, root_place}];
    if (!links.empty() || torus_->size() == 1) return links;
    const auto found = kind == Trees::disjoint
                           ? routing::disjoint_trees(*torus_, root_place)
                           : std::vector{routing::dimension_ordered_tree(*torus_, root_place)};
    for (const routing::SpanningTree& tree : found) {
        TreeLinks here;
        const int by = tree.by[std::size_t(place_)];
        if (by >= 0) here.parent = routing::Direction::from_index(by).opposite();
        for (const routing::Hop& child : tree.children(place_))
            here.children.push_back(child.direction);
        here.height = tree.height();
        links.push_back(std::move(here));
    }
    return links;
}

const Regions& Routes::regions(int root_place) {
    const auto known = regions_.find(root_place);
    if (known != regions_.end()) return known->second;
    const auto partition = routing::optimal_partition(*torus_, root_place);
    return regions_.emplace(root_place, regions_at(place_, partition)).first->second;
}

int Routes::middle() const {
    routing::Coordinates middle{};
    for (int d = 0; d < torus_->dimensions(); ++d)
        if (!torus_->periodic(d)) middle[std::size_t(d)] = torus_->extent(d) / 2;
    return torus_->rank(middle);
}

const Bundles& Routes::bundles() {
    if (bundles_ == nullptr) bundles_ = std::make_unique<const Bundles>(*torus_, place_);
    return *bundles_;
}

}  // namespace torusmp::collectives

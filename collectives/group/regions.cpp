// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/group/regions.h"

namespace torusmp::collectives {
namespace {

using routing::Direction;
using routing::Partition;

// The step by which the path to `place` leaves `from`; empty if `from` is `place`.
struct Step {
    bool passes = false;  // `from` is on the path
    int child = -1;
};

Step step_from(int from, int place, const Partition& partition) {
    int below = -1;
    for (int at = place;; at = partition.tree.parent[std::size_t(at)]) {
        if (at == from) return {true, below};
        if (at == partition.root) return {};
        below = at;
    }
}

Direction way_to(int child, int region, const Partition& partition) {
    if (partition.tree.parent[std::size_t(child)] == partition.root)
        return partition.first[std::size_t(region)];
    return Direction::from_index(partition.tree.by[std::size_t(child)]);
}

Regions::Branch& branch_of(std::vector<Regions::Branch>& branches, Direction direction,
                           int region) {
    for (Regions::Branch& branch : branches)
        if (branch.direction == direction && branch.region == region) return branch;
    branches.push_back({direction, region, 0});
    return branches.back();
}

}  // namespace

Regions regions_at(int place, const Partition& partition) {
    Regions regions;
    regions.own_region = partition.region[std::size_t(place)];
    regions.child_to.assign(partition.region.size(), Regions::nowhere);
    for (const auto& order : partition.order) {
        for (const int to : order) {
            const Step step = step_from(place, to, partition);
            if (!step.passes) continue;
            const int region = partition.region[std::size_t(to)];
            if (place != partition.root) {
                const Direction up = way_to(place, region, partition).opposite();
                ++branch_of(regions.parents, up, region).members;
            }
            if (step.child < 0) continue;
            const Direction down = way_to(step.child, region, partition);
            Regions::Branch& branch = branch_of(regions.children, down, region);
            ++branch.members;
            regions.child_to[std::size_t(to)] = std::int8_t(&branch - regions.children.data());
        }
        if (place == partition.root && !order.empty()) regions.order.push_back(order);
    }
    return regions;
}

}  // namespace torusmp::collectives

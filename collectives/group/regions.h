// SPDX-License-Identifier: BSD-3-Clause
// One member's part in the optimal scatter and gather from a place (routing/partition.h): the
// streams that pass through it, and the neighbour through which each member is reached.
//
// A value that Group computes on first use and keeps. Internal to collectives.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/partition.h"

namespace torusmp::collectives {

struct Regions {
    // A stream of one region between this member and a neighbour.
    struct Branch {
        routing::Direction direction;
        int region = 0;   // distinguishes streams between the same two members
        int members = 0;  // number of members it serves
    };
    // The branches towards the root: one stream, but two at a gate of two regions and none at the
    // root. `members` counts this member, in its own region, and all members behind it.
    std::vector<Branch> parents;
    std::vector<Branch> children;
    int own_region = -1;  // -1 if at the root
    // The child that leads to each place; -1 if none does.
    std::vector<std::int8_t> child_to;
    // The root's list of places for each child: those to which the child leads, the furthest first.
    std::vector<std::vector<int>> order;

    static constexpr std::int8_t nowhere = -1;
};

Regions regions_at(int place, const routing::Partition& partition);

}  // namespace torusmp::collectives

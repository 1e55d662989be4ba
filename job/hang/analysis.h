// SPDX-License-Identifier: BSD-3-Clause
// Why a job does not go on, from what its ranks wait for: the waits as a graph, reduced to causes.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "job/hang/snapshot.h"

namespace torusmp::job {

struct Cause {
    enum class Kind {
        // The job cannot go on. In this order where several are found.
        mismatch,   // a receive, and a message like it that does not match it
        differing,  // members of a group called different collectives
        circle,     // ranks wait for each other
        nobody,     // a receive that nobody left can serve
        gone,       // for a rank that has left or died
        // It may still go on.
        stopped,
        traced,
        sleeps,
        outside,
        device,
        silent,
        computes,
        underway  // what they wait for is on its way
    };
    Kind kind{};
    std::vector<Rank> ranks;    // at the root of it
    std::vector<Rank> waiting;  // those that depend on them, not themselves
    double seconds = 0;         // how long the longest of these has waited

    // mismatch: whose receive, as an index into its operations, and a message of its own; -1: none.
    int operation = -1;
    int message = -1;
    // differing: indices into the collectives of the first two ranks.
    int collective = -1, other_collective = -1;

    bool final() const { return kind <= Kind::gone; }
};

// The gravest first, and of equals the one on which most ranks wait. Empty: no rank waits.
std::vector<Cause> find_causes(const Snapshot& snapshot);

// A posted receive and a message that nothing has asked for, which were meant for each other as far
// as one can tell: peer and communicator are the same, and the tag differs, and so on; the
// likeliest first. Of one rank.
struct NearMiss {
    int operation = -1;  // of Waits::operations
    int message = -1;    // of Waits::messages
};
std::vector<NearMiss> near_misses(const Waits& waits);

// What a rank's call needs first: the operation or collective to name. -1: none.
struct Needed {
    int operation = -1;
    int collective = -1;
};
Needed needed(const Waits& waits);
// The call that has waited longest; null: none waits.
const Waits::Call* longest_call(const Waits& waits);

}  // namespace torusmp::job

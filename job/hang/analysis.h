// SPDX-License-Identifier: BSD-3-Clause
// Why a job makes no progress, from what its ranks wait for: the waits as a graph, reduced to
// causes. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/hang/snapshot.h"

namespace torusmp::job {

struct Cause {
    enum class Kind {
        // The job cannot continue. In this order if several causes are found.
        mismatch,   // a receive, and a similar message that does not match it
        differing,  // members of a group called different collectives
        circle,     // ranks wait for each other
        no_sender,  // a receive that no remaining rank can serve
        gone,       // waiting for a rank that has left or died
        // The job may still continue.
        cable,  // a link has been silent for a while, and data sent over it is not acknowledged
        stopped,
        traced,
        sleeps,
        outside,
        device,
        silent,
        computes,
        underway  // the awaited data is in transit
    };
    Kind kind{};
    std::vector<Rank> ranks;    // the ranks that cause it
    std::vector<Rank> waiting;  // the ranks that depend on them, without these
    double seconds = 0;         // the longest wait of these ranks

    // With `mismatch`: the receive, as an index into its rank's operations, and a message there; -1
    // if none.
    int operation = -1;
    int message = -1;
    // With `differing`: indices into the collectives of the first two ranks.
    int collective = -1, other_collective = -1;
    // With `cable`: an index into the links of the first rank.
    int link = -1;

    bool final() const { return kind <= Kind::gone; }
};

// A link that has been silent for this long is a cause.
inline constexpr double silent_for = 1;  // s

// The causes, the most severe first; among equals, the one on which most ranks wait. Empty if no
// rank waits.
//
// Ranks answer one after the other, while messages are in transit. A reported circle is still real:
// for each pair of its ranks, one has received as many packets as the other has sent. Suppose that
// a rank of the circle continued after it had answered, and that it was the first to do so. Then it
// had received a packet that it had not counted, whose sender, also in the circle, had not counted
// it either; so the sender had continued before, a contradiction. While a link is silent, or its
// other end is unreachable, no result is final: control packets of links and pieces of large
// messages are not part of that count.
std::vector<Cause> find_causes(const Snapshot& snapshot);

// A posted receive and an unexpected message of one rank that were probably meant for each other:
// peer and communicator are equal and the tag differs, and so on; the most likely pair first.
struct NearMiss {
    int operation = -1;  // index into Waits::operations
    int message = -1;    // index into Waits::messages
};
std::vector<NearMiss> near_misses(const Waits& waits);

// The operation or collective that a rank's call needs first, to be named in reports. -1 if none.
struct Needed {
    int operation = -1;
    int collective = -1;
};
Needed needed(const Waits& waits);
// The call that has waited longest; null if none waits.
const Waits::Call* longest_call(const Waits& waits);

}  // namespace torusmp::job

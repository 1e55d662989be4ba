// SPDX-License-Identifier: BSD-3-Clause
// Replays a schedule of messages on a torus step by step, to count its cost before it runs on a
// machine. Store and forward: in one step each arc (one direction of a cable) moves one message to
// the next rank, and a rank uses all its arcs in parallel. Messages that wait for the same arc
// leave in the order in which they reached it; those that reached it in the same step leave in the
// order of the schedule.
//
// Pure; any thread may call. Time grows with the hops of all messages together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "routing/partition.h"
#include "routing/torus.h"
#include "routing/trees.h"

namespace torusmp::routing {

struct Message {
    Rank from = 0;
    std::vector<Hop> path;   // at least one
    int release = 0;         // steps that pass before it may leave
    std::vector<int> after;  // messages, by index, that must have arrived before it may leave
};

struct Replay {
    int steps = 0;                // until the last message has arrived
    int sent = 0;                 // until the last message has left its first rank
    std::int64_t collisions = 0;  // steps that messages waited because their arc took another one
    int most_on_an_arc = 0;       // messages, over all steps
    double mean_on_an_arc = 0;    // over all arcs of the torus, including idle ones
};

// Throws std::invalid_argument for a message that can never leave, or whose path is invalid.
Replay replay(const Torus& torus, std::span<const Message> messages);

// One message down each arc of the tree, each as soon as the sender has received its own.
std::vector<Message> broadcast_messages(const SpanningTree& tree);
// One message up each arc of the tree, each as soon as the sender has received those from below.
std::vector<Message> reduce_messages(const SpanningTree& tree);
// A message in `packets` pieces, assigned to the trees in turn; each rank forwards each piece.
std::vector<Message> pipelined_broadcast_messages(std::span<const SpanningTree> trees, int packets);

// The optimal scatter: each of the root's links sends the messages to its region in their order.
std::vector<Message> scatter_messages(const Partition& partition);
// The reverse of the scatter: the last arrival leaves first, so that no message waits.
std::vector<Message> gather_messages(const Partition& partition);

// The baseline: messages in the order of the ranks along shortest-direction-first paths.
enum class SdfSending {
    all_links,     // each of the root's links takes the next message that leaves by it
    one_at_a_time  // the root sends one message per step
};
std::vector<Message> sdf_scatter_messages(const Torus& torus, Rank root, SdfSending sending);
// All ranks send in the same step.
std::vector<Message> sdf_gather_messages(const Torus& torus, Rank root);

// Lower bounds: for any scatter through the root's links, and for any order of this partition. The
// optimal scatter ends at the larger of the two.
struct ScatterBounds {
    int sending = 0;  // T1, the number of other ranks divided by the root's links, rounded up
    // T2: the n-th message, with a path of d links, arrives after n - 1 + d steps; the largest of
    // these, which is smallest if the furthest rank goes first.
    int longest_chain = 0;
};
ScatterBounds scatter_bounds(const Partition& partition);

}  // namespace torusmp::routing

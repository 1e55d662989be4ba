// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/tree/tree_repair.h"

#include <fmt/format.h>

#include "base/units.h"
#include "programs/torus_run/streams/packing.h"

namespace torusmp::torus_run {
namespace {

// Rounds of trying all paths to a node that is cut off, within the time limit. There are few,
// because searching for a neighbour that does not answer keeps a daemon from its other work.
constexpr int rounds = 10;

}  // namespace

TreeRepair::TreeRepair(DaemonTree& ways, int head, std::chrono::nanoseconds timeout,
                       Listener& listener)
    : ways_(ways),
      head_(head),
      listener_(listener),
      nodes_(int(ways.parents().size())),
      login_timeout_(Pulse::login_timeout(timeout)),
      streams_(nodes_) {
    if (head_ >= 0) streams_.drop(head_);
}

void TreeRepair::send_raw(DaemonFrame kind, int node, const SharedBytes& bytes) {
    listener_.send_down(kind, std::uint32_t(node), bytes);
}

void TreeRepair::send(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes) {
    listener_.send_down(DaemonFrame::lasting, node, streams_.add(node, kind, bytes));
}

bool TreeRepair::heard(int node, const Frame& frame) {
    switch (DaemonFrame(frame.header.kind)) {
        case DaemonFrame::lasting: {
            auto inner = streams_.take(node, frame.body);
            if (inner) listener_.tree_frame(node, *inner);
            if (streams_.should_confirm(node))
                send_raw(DaemonFrame::taken, node, streams_.taken(node));
            return true;
        }
        case DaemonFrame::alive:
            if (!frame.body.empty()) streams_.confirmed(node, frame.body);
            return true;
        case DaemonFrame::resumed:
            streams_.confirmed(node, frame.body);
            streams_.again(node, [&](const SharedBytes& bytes) {
                send_raw(DaemonFrame::lasting, node, bytes);
            });
            return true;
        case DaemonFrame::cut: {
            Unpacker body(frame.body);
            const int child = body.get<int>();
            const auto how = Cut(body.get<std::uint32_t>());
            cut(node, child, how, body.text());
            return true;
        }
        case DaemonFrame::joined:
            joined(node, Unpacker(frame.body).get<int>());
            return true;
        default:
            return false;
    }
}

// Reports from a former parent are ignored.
void TreeRepair::cut(int parent, int node, Cut how, const std::string& why) {
    if (node < 0 || node >= nodes_ || ways_.parents()[std::size_t(node)] != parent) return;
    const bool tried = ways_.is_missing(node);
    if (ways_.is_lost(node) || (how == Cut::no_answer && !tried)) return;
    if (how == Cut::ended && !tried) return lose(node, why);
    if (!tried) why_.emplace(node, why);
    ways_.cut_off(node, how == Cut::silent);
    send_change();
}

// Requests the frames that were in flight when the connection ended, from each node behind it.
void TreeRepair::joined(int parent, int node) {
    if (node < 0 || node >= nodes_ || ways_.parents()[std::size_t(node)] != parent) return;
    if (ways_.is_lost(node)) return;
    if (ways_.is_missing(node)) listener_.node_joined(parent, node);
    ways_.joined(node);
    why_.erase(node);
    send_change();
    for (const int it : subtree_of(ways_.parents(), node))
        if (!ways_.is_cut_off(it)) send_raw(DaemonFrame::resume, it, streams_.taken(it));
}

void TreeRepair::lose(int node, const std::string& why) {
    ways_.give_up(node);
    listener_.node_lost(node, why);
    for (const int it : subtree_of(ways_.parents(), node)) streams_.drop(it);
}

// A daemon retries when it learns of a node to join, so unchanged trees are not announced.
void TreeRepair::send_change() {
    TreeWays ways{sent_ways_.version, ways_.parents(), ways_.to_join()};
    if (ways == sent_ways_) return;
    ++ways.version;
    sent_ways_ = ways;
    listener_.tree_changed(ways);
}

void TreeRepair::beat(Clock::time_point now) {
    send_taken();
    watch_cut_off(now);
    if (now - last_round_ < login_timeout_ / rounds) return;
    last_round_ = now;
    if (ways_.try_again()) send_change();
}

void TreeRepair::send_taken() {
    for (int node = 0; node < nodes_; ++node)
        if (streams_.owes_confirmation(node))
            send_raw(DaemonFrame::taken, node, streams_.taken(node));
}

// After this time a daemon that was cut off has ended.
void TreeRepair::watch_cut_off(Clock::time_point now) {
    for (int node = 0; node < nodes_; ++node) {
        if (ways_.is_lost(node) || !ways_.is_cut_off(node)) {
            since_.erase(node);
            continue;
        }
        const int parent = ways_.parents()[std::size_t(node)];
        const bool behind_another = parent >= 0 && ways_.is_cut_off(parent);
        if (now - since_.emplace(node, now).first->second <= login_timeout_ || behind_another)
            continue;
        lose(node, fmt::format("{}; it was not reached over another cable within {}",
                               why_.count(node) != 0 ? why_[node] : "is cut off",
                               base::format_time(login_timeout_)));
    }
}

}  // namespace torusmp::torus_run

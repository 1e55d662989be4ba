// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/tree/tree_repair.h"

#include <fmt/format.h>

#include "base/units.h"
#include "programs/torus_run/streams/packing.h"

namespace torusmp::launch {
namespace {

// So often all ways to a node that is cut off are tried: to look for a neighbour that does not
// answer keeps a daemon from its other work.
constexpr int rounds = 10;

}  // namespace

TreeRepair::TreeRepair(DaemonTree& ways, int head, std::chrono::nanoseconds timeout,
                       Listener& listener)
    : ways_(ways),
      head_(head),
      listener_(listener),
      nodes_(int(ways.parents().size())),
      patience_(Pulse::patience_of_login(timeout)),
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
            if (streams_.should_tell(node))
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

// What a former parent says is no news.
void TreeRepair::cut(int parent, int node, Cut how, const std::string& why) {
    if (node < 0 || node >= nodes_ || ways_.parents()[std::size_t(node)] != parent) return;
    const bool tried = ways_.is_missing(node);
    if (ways_.is_lost(node) || (how == Cut::no_answer && !tried)) return;
    if (how == Cut::ended && !tried) return lose(node, why);
    if (!tried) why_.emplace(node, why);
    ways_.cut_off(node, how == Cut::silent);
    tell_change();
}

// Whatever was on its way when the connection ended is asked for, by each node behind it.
void TreeRepair::joined(int parent, int node) {
    if (node < 0 || node >= nodes_ || ways_.parents()[std::size_t(node)] != parent) return;
    if (ways_.is_lost(node)) return;
    if (ways_.is_missing(node)) listener_.node_joined(parent, node);
    ways_.joined(node);
    why_.erase(node);
    tell_change();
    for (const int it : subtree_of(ways_.parents(), node))
        if (!ways_.is_cut_off(it)) send_raw(DaemonFrame::resume, it, streams_.taken(it));
}

void TreeRepair::lose(int node, const std::string& why) {
    ways_.give_up(node);
    listener_.node_lost(node, why);
    for (const int it : subtree_of(ways_.parents(), node)) streams_.drop(it);
}

// Whoever hears of a node that it is to join tries again, so what is no news is not told.
void TreeRepair::tell_change() {
    TreeWays ways{told_.version, ways_.parents(), ways_.to_join()};
    if (ways == told_) return;
    ++ways.version;
    told_ = ways;
    listener_.tree_changed(ways);
}

void TreeRepair::beat(Clock::time_point now) {
    tell_what_was_taken();
    watch_those_cut_off(now);
    if (now - last_round_ < patience_ / rounds) return;
    last_round_ = now;
    if (ways_.try_again()) tell_change();
}

void TreeRepair::tell_what_was_taken() {
    for (int node = 0; node < nodes_; ++node)
        if (streams_.owes_word(node)) send_raw(DaemonFrame::taken, node, streams_.taken(node));
}

// By the end of its patience a daemon that was cut off has ended.
void TreeRepair::watch_those_cut_off(Clock::time_point now) {
    for (int node = 0; node < nodes_; ++node) {
        if (ways_.is_lost(node) || !ways_.is_cut_off(node)) {
            since_.erase(node);
            continue;
        }
        const int parent = ways_.parents()[std::size_t(node)];
        const bool behind_another = parent >= 0 && ways_.is_cut_off(parent);
        if (now - since_.emplace(node, now).first->second <= patience_ || behind_another) continue;
        lose(node, fmt::format("{}; no other cable led to it within {}",
                               why_.count(node) != 0 ? why_[node] : "is cut off",
                               base::format_time(patience_)));
    }
}

}  // namespace torusmp::launch

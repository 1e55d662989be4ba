// SPDX-License-Identifier: BSD-3-Clause
// What the head does about cables of its own tree that die while ranks run: frames to and from the
// nodes outlive their connections, and what was cut off is joined to the tree over other cables.
//
// Owned by the head and used by its one thread.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "programs/torus_run/daemon/pulse.h"
#include "programs/torus_run/tree/daemon_tree.h"
#include "programs/torus_run/tree/lasting.h"

namespace torusmp::launch {

class TreeRepair {
  public:
    struct Listener {
        virtual void send_down(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes) = 0;
        virtual void tree_frame(int node, Frame& frame) = 0;
        virtual void tree_changed(const TreeWays& ways) = 0;
        // Another parent, or the same one again, has joined it.
        virtual void node_joined(int parent, int node) = 0;
        // No way is left to a node and to those that are still behind it.
        virtual void node_lost(int node, const std::string& why) = 0;
        virtual ~Listener() = default;
    };

    using Clock = Pulse::Clock;

    // `head`: its node, -1: outside the torus. All of these must outlive this.
    TreeRepair(DaemonTree& ways, int head, std::chrono::nanoseconds timeout, Listener& listener);

    void send(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes);
    // True: it was a frame of this matter. Throws PackingError.
    bool heard(int node, const Frame& frame);
    void cut(int parent, int node, Cut how, const std::string& why);
    void joined(int parent, int node);
    // Now and then: nodes are told what has been taken, and those that could not be joined are
    // tried again, as long as they wait for it.
    void beat(Clock::time_point now);

    const HeadStreams& streams() const { return streams_; }

  private:
    void tell_change();
    void tell_what_was_taken();
    void watch_those_cut_off(Clock::time_point now);
    void lose(int node, const std::string& why);
    void send_raw(DaemonFrame kind, int node, const SharedBytes& bytes);

    DaemonTree& ways_;
    const int head_;
    Listener& listener_;
    const int nodes_;
    const std::chrono::nanoseconds patience_;
    HeadStreams streams_;
    TreeWays told_;
    std::map<int, std::string> why_;          // nodes are missing, as was said first
    std::map<int, Clock::time_point> since_;  // when nodes are cut off
    Clock::time_point last_round_;            // of trying all ways again
};

}  // namespace torusmp::launch

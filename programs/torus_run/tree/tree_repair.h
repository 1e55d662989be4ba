// SPDX-License-Identifier: BSD-3-Clause
// Repairs the head's tree when cables fail while ranks run: frames to and from the nodes outlive
// their connections, and nodes that were cut off are joined to the tree over other cables.
//
// Owned by the head and used by its one thread.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "programs/torus_run/daemon/pulse.h"
#include "programs/torus_run/tree/daemon_tree.h"
#include "programs/torus_run/tree/lasting.h"

namespace torusmp::torus_run {

class TreeRepair {
  public:
    struct Listener {
        virtual void send_down(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes) = 0;
        virtual void tree_frame(int node, Frame& frame) = 0;
        virtual void tree_changed(const TreeWays& ways) = 0;
        // A new parent, or the same one again, has joined the node.
        virtual void node_joined(int parent, int node) = 0;
        // A node and the nodes still behind it can no longer be reached.
        virtual void node_lost(int node, const std::string& why) = 0;
        virtual ~Listener() = default;
    };

    using Clock = Pulse::Clock;

    // `head` is the node of the head, -1 if outside the torus. All arguments must outlive this
    // object.
    TreeRepair(DaemonTree& ways, int head, std::chrono::nanoseconds timeout, Listener& listener);

    void send(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes);
    // Returns true if the frame belongs to the repair. Throws PackingError.
    bool heard(int node, const Frame& frame);
    void cut(int parent, int node, Cut how, const std::string& why);
    void joined(int parent, int node);
    // Call at intervals: sends confirmations to nodes, and retries nodes that could not be joined,
    // as long as they wait for it.
    void beat(Clock::time_point now);

    const HeadStreams& streams() const { return streams_; }

  private:
    void send_change();
    void send_taken();
    void watch_cut_off(Clock::time_point now);
    void lose(int node, const std::string& why);
    void send_raw(DaemonFrame kind, int node, const SharedBytes& bytes);

    DaemonTree& ways_;
    const int head_;
    Listener& listener_;
    const int nodes_;
    const std::chrono::nanoseconds login_timeout_;
    HeadStreams streams_;
    TreeWays sent_ways_;
    std::map<int, std::string> why_;          // why nodes are missing, as first reported
    std::map<int, Clock::time_point> since_;  // since when nodes are cut off
    Clock::time_point last_round_;            // of retrying all paths
};

}  // namespace torusmp::torus_run

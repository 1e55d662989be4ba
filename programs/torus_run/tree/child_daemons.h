// SPDX-License-Identifier: BSD-3-Clause
// The daemons that this daemon starts on other hosts: all of them, or only neighbours where the
// torus is the only network. A bounded number is started in parallel.
//
// Owned by a daemon and used by its one thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "programs/torus_run/streams/link.h"
#include "programs/torus_run/tree/daemon_tree.h"

namespace torusmp::torus_run {

class ChildDaemons : private Link::Listener {
  public:
    struct Listener {
        virtual void daemon_greeted(int node) = 0;
        // A frame from a child, or forwarded by it from further below.
        virtual void daemon_frame(Frame& frame) = 0;
        virtual void daemon_lost(int node, const std::string& why) = 0;
        // Called in place of daemon_lost() after ranks_run().
        virtual void daemon_cut(int node, Cut, const std::string& why) { daemon_lost(node, why); }
        virtual void daemon_output(int node, const std::string& text) = 0;
        virtual ~Listener() = default;
    };

    // `self` is this daemon's node, -1 for the head. `tree` must outlive this object. Starts
    // nothing yet.
    ChildDaemons(Loop& loop, int self, const HostOrder& tree, std::chrono::nanoseconds timeout,
                 Listener& listener);

    // Starts the daemons whose parent is this daemon.
    void start() { adopt(tree_.parents); }
    // The tree has changed: starts new children of this daemon, at the next tick() if the tree
    // already runs. While ranks run, joins missing children, or reports that they are connected. A
    // daemon that is not reached itself waits first: it might join a daemon over which it still
    // hears the head, and then the two would only hear each other.
    void follow(const TreeWays& ways);
    // Called once daemons run everywhere; from then on, those of the job with this key are joined,
    // not started.
    void ranks_run(std::uint64_t key) { key_ = key; }
    bool empty() const { return waiting_.empty() && links_.empty(); }

    // Sends to a node below, or to all of them.
    void send(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes);
    bool reaped(pid_t pid, int status);
    void tick(Clock::time_point now, std::chrono::nanoseconds asleep);
    // Whether all children are done or lost, and their agents have ended.
    bool all_gone();
    // Starts no more daemons, and ends the agents that have not reached their hosts.
    void give_up_waiting();
    // Ends the agents of lost daemons, or all agents if `all`.
    void drop(bool all);
    std::vector<pid_t> agents() const;
    // Children of this process that are not agents.
    std::vector<int> orphans() const;

  private:
    void greeted(Link& link) override;
    void frame(Link& link, Frame& frame) override;
    void lost(Link& link, const std::string& why) override;
    void agent_output(Link& link, const std::string& text) override;
    void adopt(std::vector<int> parents);
    void start_some();
    void start_one(int node);
    void unreachable(int node, const std::string& why);
    void forget(int node);
    Link* link_to(int node) const;
    void look_for(const std::vector<int>& nodes);
    void look_who_is_there();
    bool over_links() const;

    Loop& loop_;
    const int self_;
    const HostOrder& tree_;
    std::vector<int> parents_;
    const std::vector<std::string> hosts_;
    const std::string agent_, torus_run_;
    const std::chrono::nanoseconds timeout_;
    Listener& listener_;
    std::vector<int> waiting_;              // nodes to start, the next one last
    std::set<int> begun_;                   // nodes that wait or have been started
    std::vector<int> unseen_;               // waiting nodes whose address is not searched yet
    std::set<int> dead_;                    // nodes without a live cable to them
    std::uint64_t version_ = 0;             // of the tree
    std::optional<std::uint64_t> key_;      // of the job, while its ranks run
    bool looked_ = false;                   // the far ends of unknown links are searched
    std::string nobody_;                    // why a neighbour has no address
    std::map<int, std::string> addresses_;  // of neighbours, on the links to them
    std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace torusmp::torus_run

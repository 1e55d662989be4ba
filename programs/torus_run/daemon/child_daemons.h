// SPDX-License-Identifier: BSD-3-Clause
// The daemons that this daemon starts on other hosts: all of them, or those one link away where the
// torus is the only network. They are started in parallel, a bounded number at a time.
//
// Owned by a daemon and used by its one thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "programs/torus_run/streams/link.h"

namespace torusmp::launch {

// Which child of the daemon of node `from` (-1: the head) is on the way to `to`; nothing: `to` is
// not below it. `parents` as in HostOrder.
std::optional<int> next_on_the_way(const std::vector<int>& parents, int from, int to);
// The nodes below `node`, including itself.
std::vector<int> subtree_of(const std::vector<int>& parents, int node);

class ChildDaemons : private Link::Listener {
  public:
    struct Listener {
        virtual void daemon_greeted(int node) = 0;
        // Whatever comes up, from the child itself or from further below.
        virtual void daemon_frame(Frame& frame) = 0;
        virtual void daemon_lost(int node, const std::string& why) = 0;
        virtual void daemon_muttered(int node, const std::string& text) = 0;
        virtual ~Listener() = default;
    };

    // `self`: this daemon's node, -1: the head. `tree` must outlive this. Nothing is started yet.
    ChildDaemons(Loop& loop, int self, const HostOrder& tree, std::chrono::nanoseconds timeout,
                 Listener& listener);

    // Starts those whose parent this daemon is.
    void start() { follow(tree_.parents); }
    // The tree has changed: starts those that have become children of this daemon, at the next
    // tick() if it runs already.
    void follow(std::vector<int> parents);
    bool empty() const { return waiting_.empty() && links_.empty(); }

    // To a node below, or to all of them.
    void send(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes);
    bool reaped(pid_t pid, int status);
    void tick(Clock::time_point now, std::chrono::nanoseconds asleep);
    // Whether nothing more is to be expected: each is done or lost, and its agent has ended.
    bool all_gone();
    // Starts no more, and ends the agents that have not reached their host yet.
    void give_up_waiting();
    // Ends the agents of lost daemons, and of all where `all`.
    void drop(bool all);
    std::vector<pid_t> agents() const;
    // Children of this process that are no agents.
    std::vector<int> orphans() const;

  private:
    void greeted(Link& link) override;
    void frame(Link& link, Frame& frame) override;
    void lost(Link& link, const std::string& why) override;
    void muttered(Link& link, const std::string& text) override;
    void start_some();
    void start_one(int node);
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
    std::vector<int> waiting_;              // nodes, the next one last
    std::set<int> begun_;                   // those that wait, or have been started
    std::vector<int> unseen_;               // of those that wait: not looked for yet
    std::set<int> dead_;                    // no living cable leads to them
    bool looked_ = false;                   // who is at the ends of unknown links
    std::string nobody_;                    // why a neighbour has no address
    std::map<int, std::string> addresses_;  // of neighbours, on the links to them
    std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace torusmp::launch

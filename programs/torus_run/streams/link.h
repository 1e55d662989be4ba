// SPDX-License-Identifier: BSD-3-Clause
// The connection to a daemon on another host: the agent process that started it, and frames over
// the agent's standard input and output.
//
// Owned by a daemon and used by its one thread, which reaps the agent and passes on its exit
// status.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/agent.h"
#include "programs/torus_run/daemon/local_ranks.h"
#include "programs/torus_run/streams/channel.h"
#include "programs/torus_run/streams/loop.h"
#include "programs/torus_run/streams/messages.h"

namespace torusmp::torus_run {

// The first bytes that a daemon sends. They distinguish it from the output of a login script, from
// another version, and from a machine with another data layout.
std::string greeting();

class Link {
  public:
    enum class State {
        greeting,  // started; no greeting yet
        open,
        // the daemon has confirmed that all its processes have ended; its agent may still run
        done,
        lost
    };
    struct Listener {
        virtual void greeted(Link& link) = 0;
        virtual void frame(Link& link, Frame& frame) = 0;
        // Called once, but not after State::done; `why` completes "host qcd001 ...".
        virtual void lost(Link& link, const std::string& why) = 0;
        // Text that the agent or the daemon wrote to standard error.
        virtual void agent_output(Link& link, const std::string& text) = 0;
        virtual ~Listener() = default;
    };

    // Throws AgentError.
    Link(int node, const std::string& host, const std::vector<std::string>& command, Loop& loop,
         std::chrono::nanoseconds timeout, Listener& listener);
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    ~Link();

    int node() const { return node_; }
    const std::string& host() const { return host_; }
    State state() const { return state_; }
    pid_t pid() const { return agent_.pid(); }
    bool agent_ended() const { return agent_ended_; }
    bool greeted() const { return greeted_; }
    // The link greeted and was lost after a silence, because its cable failed and its daemon did
    // not end; or the daemon has moved to another connection.
    bool fell_silent() const { return fell_silent_; }

    void send(DaemonFrame kind, std::uint32_t node, SharedBytes bytes);
    bool reaped(pid_t pid, int status);
    // Checks for silence; `asleep` is how long this daemon itself was not running.
    void tick(Clock::time_point now, std::chrono::nanoseconds asleep);

  private:
    void hear();
    bool take_greeting();
    void hear_errors();
    void lose(const std::string& why);
    void agent_is_gone(int status);
    std::string last_output() const;
    void watch_output();

    const int node_;
    const std::string host_;
    const std::string agent_name_;
    Loop& loop_;
    const std::chrono::nanoseconds timeout_;
    Listener& listener_;
    launch::AgentProcess agent_;
    Channel channel_;
    State state_ = State::greeting;
    bool agent_ended_ = false;
    bool told_to_finish_ = false;
    bool greeted_ = false;
    bool leaving_ = false;
    bool fell_silent_ = false;
    Clock::time_point last_heard_;
    std::optional<Clock::time_point> ended_at_;  // end of the daemon's standard output
    std::string errors_;                         // the tail of its standard error
};

}  // namespace torusmp::torus_run

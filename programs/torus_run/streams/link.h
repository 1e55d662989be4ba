// SPDX-License-Identifier: BSD-3-Clause
// The connection to a daemon on another host: the agent that started it, and frames over the
// agent's standard input and output.
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

namespace torusmp::launch {

// What a daemon says first, so that it can be told from a profile that prints, another version, or
// another kind of machine.
std::string greeting();

class Link {
  public:
    enum class State {
        greeting,  // started; nothing heard of the daemon yet
        open,
        done,  // it has said that everything there has ended; its agent may still run
        lost
    };
    struct Listener {
        virtual void greeted(Link& link) = 0;
        virtual void frame(Link& link, Frame& frame) = 0;
        // Once; `why` completes "host qcd001 ...". Not after State::done.
        virtual void lost(Link& link, const std::string& why) = 0;
        // What the agent or the daemon wrote to standard error.
        virtual void muttered(Link& link, const std::string& text) = 0;
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
    // It greeted once, and was lost after a silence, by its cable rather than by its own end; or it
    // has left for another connection.
    bool fell_silent() const { return fell_silent_; }

    void send(DaemonFrame kind, std::uint32_t node, SharedBytes bytes);
    bool reaped(pid_t pid, int status);
    // Silence is judged here; `asleep` is how long this daemon itself has not run.
    void tick(Clock::time_point now, std::chrono::nanoseconds asleep);

  private:
    void hear();
    bool take_greeting();
    void hear_errors();
    void lose(const std::string& why);
    void agent_is_gone(int status);
    std::string last_words() const;
    void watch_output();

    const int node_;
    const std::string host_;
    const std::string agent_name_;
    Loop& loop_;
    const std::chrono::nanoseconds timeout_;
    Listener& listener_;
    AgentProcess agent_;
    Channel channel_;
    State state_ = State::greeting;
    bool agent_ended_ = false;
    bool told_to_finish_ = false;
    bool greeted_ = false;
    bool leaving_ = false;
    bool fell_silent_ = false;
    Clock::time_point last_heard_;
    std::optional<Clock::time_point> ended_at_;  // of its standard output
    std::string errors_;                         // the tail of what it wrote there
};

}  // namespace torusmp::launch

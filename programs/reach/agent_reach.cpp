// SPDX-License-Identifier: BSD-3-Clause
#include "programs/reach/agent_reach.h"

#include "launch/agent.h"
#include "programs/torus_run/streams/loop.h"
#include "programs/torus_run/streams/piped_program.h"

namespace torusmp::reach {

namespace {

class AgentReach final : public Reach {
  public:
    AgentReach(const std::string& agent, Plan plan)
        : agent_(agent), plan_(std::move(plan)), agents_(plan_.hosts.size()) {}

    void start(Listener& listener) override {
        for (std::size_t node = 0; node < plan_.hosts.size(); ++node) {
            try {
                agents_[node] = std::make_unique<torus_run::PipedProgram>(
                    launch::agent_command(agent_, plan_.hosts[node], plan_.command), loop_,
                    [&listener, node](std::string_view text) { listener.said(int(node), text); },
                    [&listener, node](const std::string& why) {
                        listener.lost(int(node), "the agent " + why);
                    });
            } catch (const launch::AgentError& error) {
                listener.lost(int(node), error.what());
            }
            serve(std::chrono::milliseconds(0));
        }
    }
    void send(int node, const std::string& text) override {
        if (agents_[std::size_t(node)]) agents_[std::size_t(node)]->send(text);
    }
    void drop(int node) override {
        if (agents_[std::size_t(node)]) agents_[std::size_t(node)]->drop();
    }
    void serve(std::chrono::milliseconds wait) override {
        loop_.step(int(wait.count()), [] {});
    }

  private:
    const std::string agent_;
    const Plan plan_;
    torus_run::Loop loop_;
    std::vector<std::unique_ptr<torus_run::PipedProgram>> agents_;
};

}  // namespace

std::unique_ptr<Reach> reach_by_agents(const std::string& agent, Plan plan) {
    return std::make_unique<AgentReach>(agent, std::move(plan));
}

}  // namespace torusmp::reach

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/text.h"
#include "config/raw.h"
#include "launch/agent.h"
#include "programs/torus_check/reach.h"
#include "programs/torus_run/streams/loop.h"
#include "programs/torus_run/streams/text.h"

namespace torusmp::check {

namespace {

constexpr std::size_t longest_error = 4096;

// The agent of one host.
class HostAgent {
  public:
    HostAgent(int node, const std::vector<std::string>& command, launch::Loop& loop,
              Reach::Listener& listener)
        : node_(node), loop_(loop), listener_(listener), agent_(command) {
        loop_.watch(agent_->output().get(), EPOLLIN, [this](auto) { read_output(); });
        loop_.watch(agent_->errors().get(), EPOLLIN, [this](auto) { read_errors(); });
        loop_.watch(agent_->input().get(), EPOLLONESHOT, [this](auto) { write(); });
    }
    HostAgent(const HostAgent&) = delete;
    HostAgent& operator=(const HostAgent&) = delete;
    ~HostAgent() { drop(); }

    void send(const std::string& text) {
        if (!agent_) return;
        unsent_ += text;
        write();
    }

    void drop() {
        if (!agent_) return;
        for (const base::Descriptor* end : {&agent_->output(), &agent_->errors(), &agent_->input()})
            loop_.forget(end->get());
        agent_.reset();
    }

  private:
    void write() {
        while (!unsent_.empty() && agent_) {
            const ssize_t put = ::write(agent_->input().get(), unsent_.data(), unsent_.size());
            if (put < 0) break;  // not now, or never: then its output ends
            unsent_.erase(0, std::size_t(put));
        }
        if (agent_)
            loop_.change(agent_->input().get(),
                         std::uint32_t(unsent_.empty() ? EPOLLONESHOT : EPOLLOUT));
    }

    void read_errors() {
        char bytes[4096];
        for (;;) {
            const ssize_t got = ::read(agent_->errors().get(), bytes, sizeof bytes);
            if (got == 0) loop_.forget(agent_->errors().get());
            if (got <= 0) break;
            errors_.append(bytes, std::size_t(got));
            if (errors_.size() > longest_error) errors_.erase(0, errors_.size() - longest_error);
        }
    }

    void read_output() {
        char bytes[16384];
        while (agent_) {
            const ssize_t got = ::read(agent_->output().get(), bytes, sizeof bytes);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return;
            if (got == 0) return ended();
            listener_.said(node_, {bytes, std::size_t(got)});
        }
    }

    void ended() {
        read_errors();
        std::string said = errors_;
        std::replace(said.begin(), said.end(), '\n', ' ');
        while (!said.empty() && said.back() == ' ') said.pop_back();
        // The agent may outlive its output for a moment.
        pollfd process{agent_->process(), POLLIN, 0};
        ::poll(&process, 1, 1000);
        const auto status = agent_->end();
        drop();
        listener_.lost(node_,
                       fmt::format("the agent {}{}",
                                   status ? launch::describe_end(*status) : "closed its output",
                                   said.empty() ? "" : ": " + base::printable(said, 300)));
    }

    const int node_;
    launch::Loop& loop_;
    Reach::Listener& listener_;
    std::optional<launch::AgentProcess> agent_;
    std::string unsent_, errors_;
};

class AgentReach final : public Reach {
  public:
    AgentReach(const std::string& agent, const std::string& program,
               const std::vector<std::string>& hosts)
        : agent_(agent), program_(program), hosts_(hosts), agents_(hosts.size()) {}

    void start(Listener& listener) override {
        for (std::size_t node = 0; node < hosts_.size(); ++node) {
            try {
                agents_[node] = std::make_unique<HostAgent>(
                    int(node), launch::agent_command(agent_, hosts_[node], {program_, "--probe"}),
                    loop_, listener);
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
    const std::string agent_, program_;
    const std::vector<std::string> hosts_;
    launch::Loop loop_;
    std::vector<std::unique_ptr<HostAgent>> agents_;
};

}  // namespace

std::unique_ptr<Reach> reach_by_agents(const std::string& agent, const std::string& program,
                                       const std::vector<std::string>& hosts) {
    return std::make_unique<AgentReach>(agent, program, hosts);
}

}  // namespace torusmp::check

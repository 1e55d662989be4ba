// SPDX-License-Identifier: BSD-3-Clause
#include "programs/reach/torus_reach.h"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>

#include "config/load.h"
#include "config/network.h"
#include "core/transport/common/settings.h"
#include "programs/reach/name_ways.h"
#include "programs/torus_run/daemon/pulse.h"
#include "programs/torus_run/front/order.h"
#include "programs/torus_run/streams/packing.h"
#include "programs/torus_run/streams/piped_program.h"
#include "programs/torus_run/tree/child_daemons.h"
#include "programs/torus_run/tree/daemon_tree.h"

namespace torusmp::reach {

namespace {

using torus_run::DaemonFrame;
using Clock = std::chrono::steady_clock;

constexpr auto patience_at_end = std::chrono::seconds(3);

// A job without ranks.
torus_run::Job make_job(const config::Settings& settings, const Plan& plan) {
    torus_run::Job job;
    job.settings = settings;
    for (int node = 0; node < int(plan.hosts.size()); ++node)
        job.hosts.push_back({plan.hosts[std::size_t(node)], "", plan.here == node, {}});
    job.common.environment = config::export_environment(settings);
    job.common.timeout = settings[transport::setting::timeout];
    job.working_directory = std::filesystem::current_path();
    job.torus_run = plan.torus_run;
    return job;
}

class TorusReach final : public Reach, private torus_run::ChildDaemons::Listener {
  public:
    TorusReach(const config::Settings& settings, Plan plan)
        : plan_(std::move(plan)),
          job_(make_job(settings, plan_)),
          tree_(torus_run::make_tree(job_)),
          pulse_(job_.common.timeout),
          unsent_(plan_.hosts.size()) {
        tree_.routes = false;  // the probes report routes
        if (plan_.links_known) {
            if (tree_.parents.empty()) tree_.parents = {-1};
            ways_.emplace(tree_.parents, torus_run::launch_torus(job_));
        } else {
            names_.emplace(int(plan_.hosts.size()), plan_.here.value_or(-1));
            tree_.over_links = false;
            tree_.unknown_links = launch::wants_address(tree_.agent);
            tree_.parents = names_->parents();
        }
        torus_run::ChildDaemons::Listener& listener = *this;
        daemons_.emplace(loop_, plan_.here.value_or(-1), tree_, job_.common.timeout, listener);
    }

    // Every host ends its processes and reports this.
    ~TorusReach() override {
        listener_ = nullptr;
        own_.reset();
        daemons_->give_up_waiting();
        daemons_->send(DaemonFrame::finish, torus_run::every_node, nullptr);
        const auto end = Clock::now() + patience_at_end;
        while (!daemons_->all_gone() && Clock::now() < end) serve(std::chrono::milliseconds(20));
        daemons_->drop(true);
    }

    void start(Reach::Listener& listener) override {
        listener_ = &listener;
        if (plan_.here) {
            if (ways_) ways_->greeted(*plan_.here);
            start_own();
        }
        daemons_->start();
        report_unreachable();
    }

    void send(int node, const std::string& text) override {
        if (plan_.here == node) {
            if (own_) own_->send(text);
        } else if (reached_.count(node)) {
            send_input(node, text);
        } else {
            unsent_[std::size_t(node)] += text;
        }
    }

    void drop(int node) override {
        if (plan_.here == node)
            own_->drop();
        else if (reached_.count(node))
            daemons_->send(DaemonFrame::probe_over, std::uint32_t(node), nullptr);
    }

    void serve(std::chrono::milliseconds wait) override {
        const int beat = pulse_.wait(std::nullopt, true);
        loop_.step(std::min(beat, int(wait.count())), [] {});
        const auto now = Clock::now();
        if (pulse_.beat(now)) daemons_->send(DaemonFrame::ping, torus_run::every_node, nullptr);
        for (const pid_t agent : daemons_->agents()) {
            int status = 0;
            if (::waitpid(agent, &status, WNOHANG) == agent) daemons_->reaped(agent, status);
        }
        daemons_->tick(now, pulse_.asleep());
        daemons_->drop(false);
    }

  private:
    void start_own() {
        const int node = *plan_.here;
        try {
            own_.emplace(
                plan_.command, loop_, [this, node](std::string_view text) { said(node, text); },
                [this, node](const std::string& how) { lost(node, "its program " + how); });
        } catch (const launch::AgentError& error) {
            lost(node, error.what());
        }
    }

    void send_input(int node, std::string_view text) {
        torus_run::Packer packer;
        packer.append(std::as_bytes(std::span(text)));
        daemons_->send(DaemonFrame::probe_input, std::uint32_t(node),
                       torus_run::share(packer.take()));
    }

    void said(int node, std::string_view text) {
        if (listener_) listener_->said(node, text);
    }
    void lost(int node, const std::string& why) {
        if (listener_ && lost_.insert(node).second) listener_->lost(node, why);
    }

    // ---- the daemons ----

    void daemon_greeted(int node) override {
        torus_run::HostOrder order = torus_run::make_order(job_, tree_, node);
        order.parents = tree_.parents;  // any host may have to start others
        order.hosts = tree_.hosts;
        daemons_->send(DaemonFrame::plan, std::uint32_t(node), torus_run::share(encode(order)));
    }

    void daemon_ready(int node, const torus_run::HostFacts& facts) {
        // A cable may lead to the wrong host.
        const auto found = config::find_host(plan_.hosts, facts.name);
        if (found.value_or(node) != node) {
            daemons_->send(DaemonFrame::finish, std::uint32_t(node), nullptr);
            return daemon_lost(node, "cannot be reached: the host that answers in its place is " +
                                         plan_.hosts[std::size_t(*found)]);
        }
        if (!reached_.insert(node).second) return;
        torus_run::Packer packer;
        packer.add(plan_.command);
        daemons_->send(DaemonFrame::probe, std::uint32_t(node), torus_run::share(packer.take()));
        send_input(node, std::exchange(unsent_[std::size_t(node)], {}));
        if (ways_) return ways_->greeted(node);
        names_->greeted(node);
        follow(names_->parents());
    }

    void daemon_frame(torus_run::Frame& frame) override {
        const int node = int(frame.header.sequence);
        if (node < 0 || node >= int(plan_.hosts.size())) return;
        try {
            torus_run::Unpacker body(frame.body);
            switch (DaemonFrame(frame.header.kind)) {
                case DaemonFrame::greeted:
                    return daemon_greeted(node);
                case DaemonFrame::facts:
                    return daemon_ready(node, torus_run::decode_facts(frame.body));
                case DaemonFrame::lost:
                    return daemon_lost(node, body.text());
                case DaemonFrame::probe_ended:
                    return lost(node, body.text());
                case DaemonFrame::probe_output: {
                    const auto text = body.rest();
                    return said(node, {reinterpret_cast<const char*>(text.data()), text.size()});
                }
                default:
                    return;  // frames that matter only to jobs
            }
        } catch (const torus_run::PackingError& error) {
            daemon_lost(node, error.what());
        }
    }

    void daemon_lost(int node, const std::string& why) override {
        if (!listener_) return;
        why_[node] = why;
        if (reached_.count(node)) {
            for (const int behind : ways_ ? ways_->behind(node) : names_->lost(node))
                if (behind != node)
                    lost(behind, "it was reached over " + plan_.hosts[std::size_t(node)] +
                                     ", which is lost");
            return lost(node, why);
        }
        if (names_) {
            names_->failed(node);
            follow(names_->parents());
            return report_unreachable();
        }
        const bool another_way = tree_.over_links && ways_->failed(node);
        if (tree_.over_links) follow(ways_->parents());
        if (another_way) return;
        for (const int behind : ways_->behind(node))
            lost(behind, "it can be reached only over " + plan_.hosts[std::size_t(node)]);
        lost(node, why);
    }

    void daemon_output(int, const std::string&) override {}

    void follow(const std::vector<int>& parents) {
        if (parents == tree_.parents) return;
        tree_.parents = parents;
        const torus_run::TreeWays ways{0, parents, {}};
        daemons_->follow(ways);
        daemons_->send(DaemonFrame::ways, torus_run::every_node, torus_run::share(encode(ways)));
    }

    void report_unreachable() {
        if (!names_) return;
        for (const int node : names_->unreached())
            lost(node, "it cannot be reached from any reachable host" + last_reason(node));
    }
    std::string last_reason(int node) const {
        const auto why = why_.find(node);
        if (why == why_.end()) return {};
        for (const std::string_view said : {"cannot be reached: ", "cannot be used: "})
            if (why->second.starts_with(said)) return ": " + why->second.substr(said.size());
        return ": it " + why->second;
    }

    const Plan plan_;
    const torus_run::Job job_;
    torus_run::HostOrder tree_;
    torus_run::Loop loop_;
    torus_run::Pulse pulse_;
    std::optional<torus_run::DaemonTree> ways_;  // this or names_ determines the parents
    std::optional<NameWays> names_;
    std::optional<torus_run::ChildDaemons> daemons_;
    std::optional<torus_run::PipedProgram> own_;
    std::vector<std::string> unsent_;  // by node, until its daemon greets
    std::set<int> reached_, lost_;
    std::map<int, std::string> why_;
    Reach::Listener* listener_ = nullptr;
};

}  // namespace

std::unique_ptr<Reach> reach_through_torus(const config::Settings& settings, Plan plan) {
    return std::make_unique<TorusReach>(settings, std::move(plan));
}

}  // namespace torusmp::reach

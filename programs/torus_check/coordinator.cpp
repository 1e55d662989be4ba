// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <map>

namespace torusmp::torus_check {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto slice = std::chrono::milliseconds(100);
constexpr auto soon = std::chrono::seconds(3);
constexpr std::size_t most_names = 8;
constexpr int transfers_a_machine = 4;

}  // namespace

Coordinator::Coordinator(const SurveyPlan& plan, reach::Reach& reach, const Progress& progress)
    : plan_(plan),
      reach_(reach),
      progress_(progress),
      workers_(plan.hosts.size(), Worker(int(plan.hosts.size()))) {}

void Coordinator::ask_hosts() {
    reach_.start(*this);
    for (std::size_t node = 0; node < workers_.size(); ++node)
        reach_.send(int(node), format_job(plan_.jobs[node]));
    await(&Worker::ready, "asking hosts", "no answer");
}

std::vector<HostResult> Coordinator::hosts() const {
    std::vector<HostResult> hosts;
    for (const Worker& worker : workers_) hosts.push_back({worker.trouble(), worker.facts(), {}});
    return hosts;
}

std::vector<ProbeReport> Coordinator::send_round(const std::function<Round(int node)>& of) {
    ++last_round_;
    for (std::size_t node = 0; node < workers_.size(); ++node) {
        Round round = of(int(node));
        round.number = last_round_;
        workers_[node].expect_sending();
        reach_.send(int(node), format_round(round));
    }
    await(&Worker::sent, "testing cables", "its test did not finish");
    const auto end = Clock::now() + plan_.wait;
    for (auto now = Clock::now(); now < end; now = Clock::now())
        reach_.serve(std::chrono::ceil<std::chrono::milliseconds>(end - now));
    return ask_reports();
}

std::vector<ProbeReport> Coordinator::ask_reports() {
    for (std::size_t node = 0; node < workers_.size(); ++node) {
        workers_[node].expect_report();
        reach_.send(int(node), "report\n");
    }
    await(&Worker::reported, "collecting", "no report");
    std::vector<ProbeReport> reports;
    for (const Worker& worker : workers_) reports.push_back(worker.report());
    return reports;
}

// Returns a number that identifies the machine of each node.
std::vector<std::size_t> Coordinator::machines() const {
    std::map<std::string, std::size_t> numbers;
    std::vector<std::size_t> machines;
    for (std::size_t node = 0; node < workers_.size(); ++node) {
        std::string machine = workers_[node].facts().machine();
        if (machine.empty()) machine = plan_.hosts[node];
        machines.push_back(numbers.emplace(machine, numbers.size()).first->second);
    }
    return machines;
}

std::vector<Pushed> Coordinator::push(const std::vector<Order>& orders, Pace pace) {
    std::vector<Pushed> results(orders.size());
    std::list<std::size_t> waiting;
    for (std::size_t i = 0; i < orders.size(); ++i) waiting.push_back(i);
    std::map<int, std::size_t> running;  // by id
    const std::vector<std::size_t> machines = this->machines();
    std::vector<int> busy(workers_.size()), ends_busy(workers_.size());  // by node; by machine
    const auto occupy = [&](const Order& order, int by) {
        for (const int node : {order.node, order.push.node}) {
            busy[std::size_t(node)] += by;
            ends_busy[machines[std::size_t(node)]] += by;
        }
    };
    const auto has_room = [&](int node) {
        return busy[std::size_t(node)] == 0 &&
               ends_busy[machines[std::size_t(node)]] < 2 * transfers_a_machine;
    };
    const auto finish = [&](std::map<int, std::size_t>::iterator at, const Pushed& pushed) {
        occupy(orders[at->second], -1);
        results[at->second] = pushed;
        running.erase(at);
    };
    const auto start = [&](std::size_t number) {
        occupy(orders[number], +1);
        Push push = orders[number].push;
        push.id = next_id_++;
        running[push.id] = number;
        reach_.send(orders[number].node, format_push(push));
    };
    auto left = std::chrono::duration_cast<Clock::duration>(plan_.timeout);
    for (;;) {
        std::erase_if(waiting, [&](std::size_t number) {
            const Order& order = orders[number];
            if (pace == Pace::in_turns && (!has_room(order.node) || !has_room(order.push.node)))
                return false;
            start(number);
            return true;
        });
        progress_("measuring cables", orders.size() - waiting.size() - running.size(),
                  orders.size(), "transfers", {});
        if (running.empty() || !keep_waiting(left)) break;
        for (Worker& worker : workers_)
            for (const Pushed& pushed : worker.take_pushed())
                if (const auto at = running.find(pushed.id); at != running.end()) {
                    left = plan_.timeout;
                    finish(at, pushed);
                }
        for (auto at = running.begin(); at != running.end();) {
            const auto current = at++;
            Pushed gone;
            gone.trouble = "the host was lost";
            if (workers_[std::size_t(orders[current->second].node)].lost()) finish(current, gone);
        }
    }
    for (const auto& [id, number] : running) results[number].trouble = "no answer in time";
    for (const std::size_t number : waiting) results[number].trouble = "no answer in time";
    return results;
}

void Coordinator::said(int node, std::string_view text) {
    Worker& worker = workers_[std::size_t(node)];
    if (worker.lost()) return;
    worker.hear(text);
    if (worker.lost()) reach_.drop(node);
}

void Coordinator::lost(int node, const std::string& why) {
    workers_[std::size_t(node)].give_up(why);
}

// Counts only time in which this program ran: if it was stopped, or starved by a busy host, it has
// not been kept waiting.
bool Coordinator::keep_waiting(Clock::duration& left) {
    if (left <= Clock::duration::zero()) return false;
    const auto before = Clock::now();
    reach_.serve(slice);
    left -= std::min<Clock::duration>(Clock::now() - before, 2 * slice);
    return true;
}

void Coordinator::await(bool (Worker::*stage)() const, const char* what, const char* failure) {
    auto left = std::chrono::duration_cast<Clock::duration>(plan_.timeout);
    for (;;) {
        const auto done =
            std::size_t(std::count_if(workers_.begin(), workers_.end(),
                                      [&](const Worker& worker) { return (worker.*stage)(); }));
        const bool late = plan_.timeout - left >= soon;
        progress_(what, done, workers_.size(), "hosts", late ? missing(stage) : std::string());
        if (done == workers_.size()) return;
        if (!keep_waiting(left)) break;
    }
    for (std::size_t node = 0; node < workers_.size(); ++node)
        if (!(workers_[node].*stage)()) {
            workers_[node].give_up(
                fmt::format("{} within {} s", failure, double(plan_.timeout.count()) / 1000));
            reach_.drop(int(node));
        }
}

std::string Coordinator::missing(bool (Worker::*stage)() const) const {
    std::vector<std::string> names;
    for (std::size_t node = 0; node < workers_.size(); ++node)
        if (!(workers_[node].*stage)()) names.push_back(plan_.hosts[node]);
    const std::size_t shown = std::min(most_names, names.size());
    return fmt::format("{}{}",
                       fmt::join(names.begin(), names.begin() + std::ptrdiff_t(shown), ", "),
                       shown < names.size() ? ", ..." : "");
}

}  // namespace torusmp::torus_check

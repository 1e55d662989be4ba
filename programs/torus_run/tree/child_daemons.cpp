// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/tree/child_daemons.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/load.h"
#include "job/settings.h"
#include "programs/torus_run/daemon/descendants.h"
#include "programs/torus_run/streams/link_address.h"
#include "programs/torus_run/streams/neighbours.h"
#include "programs/torus_run/tree/joining.h"

namespace torusmp::torus_run {
namespace {

// Maximum number of parallel agents: one like ssh costs the starting host CPU time and memory until
// it is logged in.
constexpr int most_at_a_time = 32;

std::chrono::milliseconds search_timeout(std::chrono::nanoseconds timeout) {
    constexpr std::chrono::milliseconds longest{2000};
    return std::min(longest, std::chrono::duration_cast<std::chrono::milliseconds>(timeout / 4));
}

}  // namespace

ChildDaemons::ChildDaemons(Loop& loop, int self, const HostOrder& tree,
                           std::chrono::nanoseconds timeout, Listener& listener)
    : loop_(loop),
      self_(self),
      tree_(tree),
      parents_(tree.parents),
      hosts_(tree.hosts),
      agent_(tree.agent),
      torus_run_(tree.torus_run),
      timeout_(timeout),
      listener_(listener) {}

void ChildDaemons::adopt(std::vector<int> parents) {
    parents_ = std::move(parents);
    for (int node = int(parents_.size()); node-- > 0;) {
        if (parents_[std::size_t(node)] != self_ || !begun_.insert(node).second) continue;
        waiting_.push_back(node);
        unseen_.push_back(node);
    }
}

Link* ChildDaemons::link_to(int node) const {
    for (const auto& link : links_)
        if (link->node() == node && link->state() != Link::State::lost) return link.get();
    return nullptr;
}

void ChildDaemons::follow(const TreeWays& ways) {
    if (!key_) return adopt(ways.parents);
    if (ways.version < version_) return;
    version_ = ways.version;
    parents_ = ways.parents;
    for (const int node : std::exchange(waiting_, {})) begun_.erase(node);
    unseen_.clear();
    if (!is_reached(parents_, ways.missing, self_)) return;
    for (const int node : ways.missing) {
        if (parents_[std::size_t(node)] != self_) continue;
        const Link* const link = link_to(node);
        if (link && link->state() == Link::State::open) listener_.daemon_greeted(node);
        if (ways.version < version_) return;  // a nested call has replaced the tree
        if (link || !begun_.insert(node).second) continue;
        waiting_.push_back(node);
        unseen_.push_back(node);
    }
}

// A head outside the torus has no link to the first host, and reaches it by its name.
bool ChildDaemons::over_links() const {
    return tree_.over_links && self_ >= 0;
}

// Waits for the neighbours' answers, but not so long that this daemon itself is considered dead.
void ChildDaemons::look_for(const std::vector<int>& nodes) {
    const config::Settings settings =
        config::load_for_rank(job::schema(), {}, tree_.job.environment);
    for (const int node : without_a_cable(settings, self_, nodes)) dead_.insert(node);
    if (launch::wants_address(agent_))
        addresses_.merge(link_addresses(settings, self_, nodes, search_timeout(timeout_)));
    nobody_ = fmt::format("no answer on the link from host {}; torus-check tests the cables",
                          hosts_[std::size_t(self_)]);
}

// A host that does not answer in time will be found by another neighbour.
void ChildDaemons::look_who_is_there() {
    if (std::exchange(looked_, true)) return;
    try {
        addresses_ = find_neighbours(hosts_, agent_, search_timeout(timeout_));
        nobody_ = "no answer on any link of host " + hosts_[std::size_t(self_)];
    } catch (const launch::AgentError& error) {
        nobody_ = error.what();
    }
}

void ChildDaemons::start_some() {
    const auto greeting = std::count_if(links_.begin(), links_.end(), [](const auto& link) {
        return link->state() == Link::State::greeting;
    });
    for (auto room = most_at_a_time - greeting; room > 0 && !waiting_.empty(); --room) {
        if (const auto unseen = std::exchange(unseen_, {}); over_links() && !unseen.empty())
            look_for(unseen);
        if (tree_.unknown_links && self_ >= 0) look_who_is_there();
        const int node = waiting_.back();
        waiting_.pop_back();
        start_one(node);
    }
}

void ChildDaemons::start_one(int node) {
    const std::string& host = hosts_[std::size_t(node)];
    const bool by_address =
        (over_links() && launch::wants_address(agent_)) || (tree_.unknown_links && self_ >= 0);
    if (over_links() && dead_.contains(node))
        return unreachable(node, fmt::format("no cable to it from host {} has a carrier",
                                             hosts_[std::size_t(self_)]));
    if (by_address && !addresses_.contains(node)) return unreachable(node, nobody_);
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(timeout_).count();
    begun_.erase(key_ ? node : -1);
    std::vector<std::string> words{torus_run_, "--daemon", std::to_string(milliseconds)};
    if (key_) words.insert(words.end(), {daemon_name(*key_, node), std::to_string(version_)});
    const std::vector<std::string> command =
        launch::agent_command(agent_, host, words, by_address ? addresses_[node] : host);
    Link::Listener& listener = *this;
    try {
        links_.push_back(std::make_unique<Link>(node, host, command, loop_, timeout_, listener));
    } catch (const launch::AgentError& error) {
        unreachable(node, error.what());
    }
}

void ChildDaemons::unreachable(int node, const std::string& why) {
    const std::string text = "cannot be reached: " + why;
    if (!key_) return listener_.daemon_lost(node, text);
    forget(node);
    listener_.daemon_cut(node, Cut::no_answer, text);
}

void ChildDaemons::send(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes) {
    const auto next =
        node == every_node ? std::nullopt : next_on_the_way(parents_, self_, int(node));
    for (const auto& link : links_)
        if (node == every_node || (next && link->node() == *next)) link->send(kind, node, bytes);
}

bool ChildDaemons::reaped(pid_t pid, int status) {
    for (std::size_t i = 0; i < links_.size(); ++i)
        if (links_[i]->reaped(pid, status)) return true;
    return false;
}

void ChildDaemons::tick(Clock::time_point now, std::chrono::nanoseconds asleep) {
    for (std::size_t i = 0; i < links_.size(); ++i) links_[i]->tick(now, asleep);
    start_some();
}

bool ChildDaemons::all_gone() {
    return waiting_.empty() && std::all_of(links_.begin(), links_.end(), [](const auto& link) {
               const bool silent =
                   link->state() == Link::State::done || link->state() == Link::State::lost;
               return silent && link->agent_ended();
           });
}

void ChildDaemons::give_up_waiting() {
    waiting_.clear();
    unseen_.clear();
    std::erase_if(links_, [](const auto& link) { return link->state() == Link::State::greeting; });
}

void ChildDaemons::drop(bool all) {
    if (all) waiting_.clear();
    std::erase_if(links_,
                  [all](const auto& link) { return all || link->state() == Link::State::lost; });
}

std::vector<pid_t> ChildDaemons::agents() const {
    std::vector<pid_t> pids;
    for (const auto& link : links_) pids.push_back(link->pid());
    return pids;
}

std::vector<int> ChildDaemons::orphans() const {
    std::vector<int> found = children();
    for (const pid_t agent : agents()) std::erase(found, agent);
    return found;
}

void ChildDaemons::greeted(Link& link) {
    listener_.daemon_greeted(link.node());
}
void ChildDaemons::frame(Link&, Frame& frame) {
    listener_.daemon_frame(frame);
}
// The daemon may be joined again, perhaps over another cable.
void ChildDaemons::lost(Link& link, const std::string& why) {
    if (!key_) return listener_.daemon_lost(link.node(), why);
    forget(link.node());
    listener_.daemon_cut(link.node(),
                         link.fell_silent() ? Cut::silent
                         : link.greeted()   ? Cut::ended
                                            : Cut::no_answer,
                         why);
}

void ChildDaemons::forget(int node) {
    begun_.erase(node);
    dead_.erase(node);
    addresses_.erase(node);
}
void ChildDaemons::agent_output(Link& link, const std::string& text) {
    listener_.daemon_output(link.node(), text);
}

}  // namespace torusmp::torus_run

// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/cable.h"
#include "config/geometry.h"
#include "config/geometry_text.h"
#include "config/network.h"
#include "config/plugs.h"
#include "core/settings.h"
#include "routing/detours.h"

namespace torusmp::torus_check {

namespace {

using config::Device;
using routing::Direction;

using EndKey = std::pair<int, std::string>;  // node and device

struct Count {
    int small = 0, large = 0;
};

// The most common value; nothing if there are no values.
std::optional<int> usual(const std::map<int, int>& count) {
    if (count.empty()) return std::nullopt;
    // Prefer the larger of two equally common values, so that the smaller is reported.
    return std::max_element(count.begin(), count.end(),
                            [](const auto& a, const auto& b) {
                                return std::pair(a.second, a.first) < std::pair(b.second, b.first);
                            })
        ->first;
}

class Judge {
  public:
    Judge(const config::Settings& settings, const std::vector<HostResult>& results,
          const Expectation& expectation)
        : settings_(settings),
          results_(results),
          expectation_(expectation),
          torus_(*node_torus(settings)) {
        collect_expected();
        collect_heard();
    }

    std::vector<CableResult> run() {
        std::vector<CableResult> cables;
        for (int node = 0; node < torus_.size(); ++node)
            for (int d = 0; d < torus_.link_dimensions(); ++d)
                if (const auto peer = torus_.neighbour(node, {d, +1})) {
                    CableResult cable{end_at(node, {d, +1}), end_at(*peer, {d, -1}), {}, {}, {}};
                    judge_cable(cable);
                    cables.push_back(std::move(cable));
                }
        return cables;
    }

  private:
    const HostResult& result(int node) const { return results_[std::size_t(node)]; }
    const std::string& host(int node) const { return host_names(settings_)[std::size_t(node)]; }

    LinkEnd end_at(int node, Direction direction) const {
        return {node, host(node), config::link_device(settings_, node, direction), direction,
                config::link_name(settings_, direction)};
    }

    std::string describe(const EndKey& end) const {
        const auto link = expected_.find(end);
        return fmt::format("{} {}{}", host(end.first), end.second,
                           link == expected_.end()
                               ? std::string(" (no link)")
                               : config::direction_note(settings_, link->second.direction));
    }

    // ---- What should be, and what was heard ----

    void collect_expected() {
        std::map<int, int> speeds, mtus;
        for (int node = 0; node < torus_.size(); ++node)
            for (int i = 0; i < 2 * torus_.link_dimensions(); ++i) {
                const Direction direction = Direction::from_index(i);
                const auto peer = torus_.neighbour(node, direction);
                if (!peer) continue;
                const LinkEnd end = end_at(node, direction);
                const LinkEnd far = end_at(*peer, direction.opposite());
                expected_[{node, end.device}] = {direction, {far.node, far.device}};
                if (const Device* device = result(node).facts.find(end.device)) {
                    if (device->megabits) ++speeds[*device->megabits];
                    ++mtus[device->mtu];
                }
            }
        megabits_ = expectation_.megabits ? expectation_.megabits : usual(speeds);
        mtu_ = expectation_.mtu ? expectation_.mtu : usual(mtus);
    }

    void collect_heard() {
        for (int node = 0; node < torus_.size(); ++node) {
            for (const Heard& heard : result(node).report.heard) {
                const EndKey to{node, heard.device}, from{heard.node, heard.from};
                heard_[{from, to}] = {heard.small, heard.large};
                partners_[to].insert(from);
                partners_[from].insert(to);
            }
            for (const Sent& sent : result(node).report.sent) sent_[{node, sent.device}] = sent;
        }
    }

    const std::set<EndKey>& partners(const EndKey& end) const {
        static const std::set<EndKey> none;
        const auto found = partners_.find(end);
        return found == partners_.end() ? none : found->second;
    }

    std::optional<EndKey> partner(const EndKey& end) const {
        const auto& all = partners(end);
        if (all.size() != 1) return std::nullopt;
        return *all.begin();
    }

    // ---- One cable ----

    void judge_cable(CableResult& cable) {
        if (unreached(cable) || unusable(cable)) return;
        const EndKey a{cable.a.node, cable.a.device}, b{cable.b.node, cable.b.device};
        if (judge_place(cable, a, b)) {
            judge_loss(cable, a, b);
            judge_loss(cable, b, a);
        }
        judge_device(cable, cable.a);
        judge_device(cable, cable.b);
    }

    static void find(CableResult& cable, Fault fault, std::string text) {
        cable.findings.push_back({fault, std::move(text)});
    }

    bool unreached(CableResult& cable) const {
        for (const LinkEnd* end : {&cable.a, &cable.b})
            if (!result(end->node).trouble.empty())
                find(cable, Fault::unknown, fmt::format("{} was not tested", end->host));
        return !cable.findings.empty();
    }

    bool unusable(CableResult& cable) const {
        for (const LinkEnd* end : {&cable.a, &cable.b}) {
            const Device* device = result(end->node).facts.find(end->device);
            std::string why;
            if (end->device.empty())
                why = fmt::format("[links] has no device of {} for {}", end->host,
                                  config::direction_name(end->direction));
            else if (!device)
                why = fmt::format("{} has no device {}", end->host, end->device);
            else if (!device->up)
                why = fmt::format("{} {} is down", end->host, end->device);
            else if (!device->carrier)
                why = fmt::format("{} {} has no carrier: plug the cable in at both ends", end->host,
                                  end->device);
            if (!why.empty()) find(cable, Fault::missing, why);
        }
        return !cable.findings.empty();
    }

    // Whether several devices of these two hosts, and of no other, are on one cable.
    bool are_twins(const EndKey& a, const EndKey& b) const {
        const auto all_here = [&](const EndKey& end) {
            return std::all_of(partners(end).begin(), partners(end).end(), [&](const EndKey& far) {
                return far.first == a.first || far.first == b.first;
            });
        };
        return partners(a).count(b) != 0 && all_here(a) && all_here(b);
    }

    // True if both ends receive only from each other, or one end does and the other receives
    // nothing; and for twins.
    bool judge_place(CableResult& cable, const EndKey& a, const EndKey& b) const {
        for (const EndKey& end : {a, b})
            if (partners(end).size() > 1 && !are_twins(a, b)) {
                std::vector<std::string> names;
                for (const EndKey& far : partners(end))
                    if (names.size() < 4) names.push_back(describe(far));
                find(cable, Fault::shared,
                     fmt::format("{} receives from {} other ends, {}{}: expected one; is it "
                                 "connected to a switch or a bridge?",
                                 describe(end), partners(end).size(), fmt::join(names, ", "),
                                 partners(end).size() > names.size() ? " ..." : ""));
                return false;
            }
        if (partners(a).count(b)) return true;
        const bool wrong_a = judge_misplaced(cable, a, b);
        // An exchange is reported once, from one end; a misplaced cable is reported from both.
        if (wrong_a && cable.findings.back().fault != Fault::misplaced) return false;
        const bool wrong_b = judge_misplaced(cable, b, a);
        if (!wrong_a && !wrong_b)
            find(cable, Fault::missing,
                 fmt::format("both ends have a carrier, but no packet arrives from {} at {} or "
                             "back",
                             describe(a), describe(b)));
        return false;
    }

    // Reports that the end `here` leads to an end other than `should`.
    bool judge_misplaced(CableResult& cable, const EndKey& here, const EndKey& should) const {
        const auto found = partner(here);
        if (!found) return false;
        const std::string leads = fmt::format("{} leads to {}", describe(here), describe(*found));
        // The expected end there and its partner: if that partner is our expected end, two cables
        // were exchanged.
        const auto theirs = expected_.find(*found);
        const bool exchanged =
            theirs != expected_.end() && partner(theirs->second.far) == std::optional(should);
        if (!exchanged) {
            find(cable, Fault::misplaced,
                 fmt::format("{}, expected {}{}", leads, describe(should),
                             found->first == here.first ? ": it comes back to the same host" : ""));
            return true;
        }
        const bool one_host = found->first == should.first;
        const Fault fault = one_host ? Fault::crossed : Fault::swapped;
        const auto plug = [](const EndKey& end) { return config::Plug{end.first, end.second}; };
        const auto exchanges = config::explain_by_exchange(plug(here), plug(should), plug(*found),
                                                           plug(theirs->second.far));
        if (exchanges.empty())
            find(cable, fault,
                 fmt::format("{}, expected {}: exchange it with the cable from {}", leads,
                             describe(should), describe(theirs->second.far)));
        else
            find_exchange(cable, fault, exchanges,
                          fmt::format("{}, expected {}", leads, describe(should)));
        return true;
    }

    // If either of two hosts may have exchanged devices, prefer the one already reported. The
    // advice is given once.
    void find_exchange(CableResult& cable, Fault fault,
                       const std::vector<config::Exchange>& exchanges,
                       const std::string& what) const {
        const auto advised = std::find_if(exchanges.begin(), exchanges.end(),
                                          [&](const auto& it) { return advised_.count(it) != 0; });
        const config::Exchange& it = advised != exchanges.end()
                                         ? *advised
                                         : *std::min_element(exchanges.begin(), exchanges.end());
        const bool first = advised_.insert(it).second;
        find(cable, fault,
             fmt::format("the devices {} and {} of {} are exchanged: {}{}", it.one, it.other,
                         host(it.node), what,
                         first ? ". " + config::advise_exchange(host(it.node), it.one, it.other)
                               : std::string()));
    }

    void judge_loss(CableResult& cable, const EndKey& from, const EndKey& to) const {
        const auto found = sent_.find(from);
        if (found == sent_.end()) return;
        const Sent& sent = found->second;
        const auto counted = heard_.find({from, to});
        const Count got = counted == heard_.end() ? Count{} : counted->second;
        const auto receiver = sent_.find(to);
        const int overflow = receiver == sent_.end() ? 0 : receiver->second.overflow;
        const std::string way = fmt::format("{} to {}", describe(from), describe(to));
        if (!sent.trouble.empty()) find(cable, Fault::lossy, describe(from) + ": " + sent.trouble);
        if (too_few(got.small + overflow, sent.small))
            find(cable, Fault::lossy,
                 fmt::format(
                     "{} of {} packets lost from {}{}", sent.small - got.small, sent.small, way,
                     got.small == 0 && heard_.count({to, from}) ? ": only this direction is dead"
                                                                : ""));
        else if (sent.large > 0 && got.large == 0)
            find(cable, Fault::small_mtu,
                 fmt::format("no packet of {} bytes arrives from {}, but small packets do",
                             sent.large_bytes, way));
        else if (too_few(got.large + overflow, sent.large))
            find(cable, Fault::lossy,
                 fmt::format("{} of {} packets of {} bytes lost from {}", sent.large - got.large,
                             sent.large, sent.large_bytes, way));
    }

    bool too_few(int got, int sent) const { return sent - got > sent * expectation_.loss; }

    void judge_device(CableResult& cable, const LinkEnd& end) const {
        const Device& device = *result(end.node).facts.find(end.device);
        const std::string name = describe({end.node, end.device});
        if (mtu_ && device.mtu < *mtu_)
            find(cable, Fault::small_mtu,
                 fmt::format("{} has MTU {}, expected {}", name, device.mtu, *mtu_));
        if (megabits_ && device.megabits && *device.megabits < *megabits_)
            find(cable, Fault::slow,
                 fmt::format("{} runs at {} Mbit/s, expected {}: is the cable damaged?", name,
                             *device.megabits, *megabits_));
        if (device.full_duplex && !*device.full_duplex)
            find(cable, Fault::slow, fmt::format("{} runs at half duplex, expected full", name));
    }

    struct Expected {
        Direction direction;
        EndKey far;
    };

    const config::Settings& settings_;
    const std::vector<HostResult>& results_;
    const Expectation& expectation_;
    const routing::Torus torus_;
    std::map<EndKey, Expected> expected_;
    std::map<std::pair<EndKey, EndKey>, Count> heard_;  // from, to
    std::map<EndKey, std::set<EndKey>> partners_;
    std::map<EndKey, Sent> sent_;
    std::optional<int> megabits_, mtu_;
    mutable std::set<config::Exchange> advised_;
};

}  // namespace

const char* name_of(Fault fault) {
    switch (fault) {
        case Fault::unknown:
            return "unknown";
        case Fault::missing:
            return "missing";
        case Fault::blocked:
            return "blocked";
        case Fault::swapped:
            return "swapped";
        case Fault::crossed:
            return "crossed";
        case Fault::misplaced:
            return "misplaced";
        case Fault::shared:
            return "shared";
        case Fault::slow:
            return "slow";
        case Fault::small_mtu:
            return "small MTU";
        case Fault::lossy:
            return "lossy";
    }
    return "unknown";
}

std::string describe(const LinkEnd& end) {
    return fmt::format("{} {}{}", end.host, end.device.empty() ? "?" : end.device,
                       end.link.empty() ? "" : fmt::format(" ({})", end.link));
}

std::vector<CableResult> judge(const config::Settings& settings,
                               const std::vector<HostResult>& results,
                               const Expectation& expectation) {
    return Judge(settings, results, expectation).run();
}

std::string outlook_for_jobs(const config::Settings& settings,
                             const std::vector<CableResult>& cables) {
    const auto has = [](const CableResult& cable, auto&& wanted) {
        return std::any_of(cable.findings.begin(), cable.findings.end(),
                           [&](const Finding& finding) { return wanted(finding.fault); });
    };
    std::vector<routing::Link> dead;
    for (const CableResult& cable : cables) {
        if (has(cable, [](Fault fault) { return fault == Fault::unknown; })) return {};
        // Cables that lead elsewhere are not used as links.
        if (has(cable,
                [](Fault fault) { return fault >= Fault::missing && fault <= Fault::shared; }))
            dead.push_back({cable.a.node, cable.a.direction.dimension});
    }
    if (dead.empty()) return {};
    const routing::Parts parts(*node_torus(settings), dead);
    if (!parts.connected()) return "jobs cannot start: " + config::describe_parts(settings, parts);
    if (!settings[core::setting::detour]) return "jobs cannot start: routing.detour = false";
    if (settings[config::setting::forward] == config::Forward::kernel)
        return "jobs cannot start: routing.forward = \"kernel\"";
    return dead.size() == 1 ? "jobs use a detour around it" : "jobs use detours around them";
}

}  // namespace torusmp::torus_check

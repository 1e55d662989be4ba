// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/cable_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "programs/torus_check/firewall.h"
#include "programs/torus_check/speed.h"

namespace torusmp::torus_check {

namespace {

using EndKey = std::pair<int, std::string>;  // node and device

// An end that loses a packet while all hosts send is tested again alone, with more packets; the
// better of these rounds counts.
constexpr int more_rounds = 2, more_small = 600, more_large = 60;

// All cables at the same time: the bytes are shared by all ends on one machine, so that namespaces
// of one machine do not take too long, and are limited to a fixed time at the speed of the driver.
constexpr std::uint64_t machine_bytes = std::uint64_t(128) << 20;
constexpr std::uint64_t fewest_bytes = std::uint64_t(64) << 10;
constexpr double together_seconds = 0.05;
constexpr auto together_time = std::chrono::milliseconds(50);
// One cable at a time: more bytes than shapers pass at first, but a short transfer on fast cables.
constexpr std::uint64_t least_alone = std::uint64_t(384) << 10, most_alone = std::uint64_t(32)
                                                                             << 20;
constexpr double alone_seconds = 0.002;
constexpr auto transfer_time = std::chrono::milliseconds(10);
// Comparisons last longer. Every second one uses a short transfer if that takes little time,
// because such a transfer most likely runs between two interruptions of the hosts.
constexpr auto compare_time = std::chrono::milliseconds(50);
constexpr int default_megabits = 1000;  // if the driver reports no speed

const LinkEnd& start_of(const CableResult& cable, Speeds::Way way) {
    return way % 2 ? cable.b : cable.a;
}
const LinkEnd& end_of(const CableResult& cable, Speeds::Way way) {
    return way % 2 ? cable.a : cable.b;
}

// ---- Probes that were lost ----

using Reports = std::vector<ProbeReport>;  // by node

Sent* find_sent(Reports& reports, const EndKey& end) {
    for (Sent& sent : reports[std::size_t(end.first)].sent)
        if (sent.device == end.second) return &sent;
    return nullptr;
}

// The first end at which packets of an end arrived, and their number.
std::optional<std::pair<EndKey, Heard>> arrival(const Reports& reports, const EndKey& from) {
    for (std::size_t node = 0; node < reports.size(); ++node)
        for (const Heard& heard : reports[node].heard)
            if (heard.node == from.first && heard.from == from.second)
                return std::pair(EndKey{int(node), heard.device}, heard);
    return std::nullopt;
}

// Ends from which some packets, but not all, arrive.
std::set<EndKey> ends_that_lose(const Reports& reports) {
    std::map<EndKey, int> arrived;
    for (const ProbeReport& report : reports)
        for (const Heard& heard : report.heard) {
            int& most = arrived[{heard.node, heard.from}];
            most = std::max(most, heard.small + heard.large);
        }
    std::set<EndKey> ends;
    for (std::size_t node = 0; node < reports.size(); ++node)
        for (const Sent& sent : reports[node].sent) {
            const auto found = arrived.find({int(node), sent.device});
            if (found != arrived.end() && found->second < sent.small + sent.large)
                ends.insert(found->first);
        }
    return ends;
}

// Packets of an end that were lost by the fault of the cable.
int lost_of(Reports& reports, const EndKey& from) {
    const Sent* sent = find_sent(reports, from);
    const auto got = arrival(reports, from);
    if (!sent || !got) return std::numeric_limits<int>::max();
    const Sent* receiver = find_sent(reports, got->first);
    return sent->small + sent->large - got->second.small - got->second.large -
           (receiver ? receiver->overflow : 0);
}

// Replaces the results of an end in `reports` by those of a later round.
void replace(Reports& reports, const EndKey& from, Reports& later) {
    const Sent* sent = find_sent(later, from);
    if (!sent) return;
    if (Sent* known = find_sent(reports, from)) {
        const int overflow = known->overflow;  // of packets received at this end
        *known = *sent;
        known->overflow = overflow;
    }
    for (ProbeReport& report : reports)
        std::erase_if(report.heard, [&](const Heard& heard) {
            return heard.node == from.first && heard.from == from.second;
        });
    const auto got = arrival(later, from);
    if (!got) return;
    reports[std::size_t(got->first.first)].heard.push_back(got->second);
    const Sent* receiver = find_sent(later, got->first);
    if (Sent* known = find_sent(reports, got->first))
        known->overflow = receiver ? receiver->overflow : 0;
}

// ---- The survey ----

class CableSurvey {
  public:
    CableSurvey(Coordinator& coordinator, const config::Settings& settings,
                const SurveyOptions& options)
        : coordinator_(coordinator), settings_(settings), options_(options) {}

    Survey run() {
        const Reports before = coordinator_.ask_reports();
        const Reports reports = send_probes();
        survey_.hosts = coordinator_.hosts();
        for (std::size_t node = 0; node < reports.size(); ++node)
            survey_.hosts[node].report = reports[node];
        survey_.cables = judge(settings_, survey_.hosts, options_.expectation);
        name_firewalls(blocked_devices(before, coordinator_.ask_reports()));
        measure();
        judge_counters(before, coordinator_.ask_reports());
        return std::move(survey_);
    }

  private:
    // Adds the likely cause to the findings of cables whose packets arrive but are not received.
    void name_firewalls(const std::vector<std::set<std::string>>& blocked) {
        for (CableResult& cable : survey_.cables)
            for (const LinkEnd* end : {&cable.a, &cable.b})
                if (!cable.findings.empty() && blocked[std::size_t(end->node)].count(end->device))
                    cable.findings.back().text += ". " + describe_block(end->host, end->device);
    }

    Reports send_probes() {
        Reports reports = coordinator_.send_round([&](int) {
            return Round{0, options_.small_probes, options_.large_probes, true, {}};
        });
        const std::set<EndKey> suspects = ends_that_lose(reports);
        Reports best;
        for (int i = 0; i < more_rounds && !suspects.empty(); ++i) {
            Reports again = coordinator_.send_round([&](int node) {
                Round round{0,
                            std::max(more_small, options_.small_probes),
                            std::max(more_large, options_.large_probes),
                            false,
                            {}};
                for (const EndKey& end : suspects)
                    if (end.first == node) round.devices.push_back(end.second);
                return round;
            });
            if (best.empty()) best = again;
            for (const EndKey& end : suspects)
                if (lost_of(again, end) < lost_of(best, end)) replace(best, end, again);
        }
        for (const EndKey& end : suspects) replace(reports, end, best);
        return reports;
    }

    // ---- Transfers ----

    void measure() {
        std::vector<std::optional<int>> megabits;
        for (const CableResult& cable : survey_.cables) megabits.push_back(slower_end(cable));
        Speeds speeds(std::move(megabits));
        std::vector<Speeds::Way> ways;  // of cables without a known fault
        for (std::size_t cable = 0; cable < survey_.cables.size(); ++cable)
            if (survey_.cables[cable].findings.empty())
                ways.insert(ways.end(), {2 * cable, 2 * cable + 1});
        push(speeds, ways, Coordinator::Pace::together);
        find_refusals(speeds, ways);
        std::erase_if(ways, [&](Speeds::Way way) { return speeds.is_nominal(way); });
        push(speeds, ways, Coordinator::Pace::in_turns);
        for (std::size_t cable = 0; cable < survey_.cables.size(); ++cable) {
            survey_.cables[cable].forth = speeds.rate(2 * cable);
            survey_.cables[cable].back = speeds.rate(2 * cable + 1);
        }
        compare(speeds);
        if (const std::string why = speeds.why_nothing(); !why.empty())
            survey_.notes.push_back(fmt::format("cannot measure the speed of the cables: {}", why));
    }

    // Probes arrived at both ends, so only a firewall can refuse a connection. One that is not
    // answered may have been dropped at either end if that is so both ways.
    void find_refusals(const Speeds& speeds, std::vector<Speeds::Way>& ways) {
        std::map<std::size_t, std::vector<Speeds::Way>> refused;  // by cable
        for (const Speeds::Way way : ways)
            if (!speeds.refusal(way).empty()) refused[way / 2].push_back(way);
        for (auto& [number, both] : refused) {
            CableResult& cable = survey_.cables[number];
            std::stable_partition(both.begin(), both.end(), [&](Speeds::Way way) {
                return speeds.refusal(way).find("refused") != std::string::npos;
            });
            const Speeds::Way way = both.front();
            const LinkEnd &from = start_of(cable, way), &to = end_of(cable, way);
            const bool either =
                both.size() > 1 && speeds.refusal(way).find("refused") == std::string::npos;
            cable.findings.push_back(
                {Fault::blocked,
                 fmt::format(
                     "UDP packets arrive from {} at {}, but TCP {}: a firewall of {} blocks TCP. "
                     "{}",
                     describe(from), describe(to), speeds.refusal(way),
                     either ? to.host + " or " + from.host : to.host,
                     advise_firewall(either ? to.device + " or " + from.device : to.device))});
        }
        std::erase_if(ways, [&](Speeds::Way way) { return refused.count(way / 2) != 0; });
    }

    void push(Speeds& speeds, const std::vector<Speeds::Way>& ways, Coordinator::Pace pace) {
        std::vector<Coordinator::Order> orders;
        std::map<std::string, std::size_t> ways_of;  // by machine
        for (const Speeds::Way way : ways) ++ways_of[machine(way)];
        for (const Speeds::Way way : ways)
            orders.push_back(order(way, pace, ways_of[machine(way)]));
        const std::vector<Pushed> results = coordinator_.push(orders, pace);
        for (std::size_t i = 0; i < ways.size(); ++i) speeds.add(ways[i], results[i]);
    }

    // Suspects are measured alone, each in turns with a good cable.
    void compare(Speeds& speeds) {
        for (const Speeds::Way way : speeds.suspects()) {
            const auto& found = survey_.cables[way / 2].findings;
            if (!found.empty() && found.front().fault == Fault::blocked) continue;
            for (int i = 0; speeds.is_open(way); ++i) {
                const auto beside = speeds.reference(way);
                if (!beside) break;
                const bool brief = speeds.are_fast(way) && i % 2;
                const Pushed own = push_alone(way, brief), other = push_alone(*beside, brief);
                speeds.compare(way, own, other);
            }
            if (!speeds.remains_slow(way)) continue;
            CableResult& cable = survey_.cables[way / 2];
            cable.findings.push_back(
                speeds.finding(way, describe(start_of(cable, way)), describe(end_of(cable, way))));
        }
    }

    Pushed push_alone(Speeds::Way way, bool brief) {
        constexpr auto pace = Coordinator::Pace::in_turns;
        Coordinator::Order transfer = order(way, pace, 1);
        transfer.push.time = compare_time;
        if (brief) transfer.push.bytes = least_alone;
        return coordinator_.push({transfer}, pace).front();
    }

    std::string machine(Speeds::Way way) const {
        const LinkEnd& from = start_of(survey_.cables[way / 2], way);
        const std::string known = survey_.hosts[std::size_t(from.node)].facts.machine();
        return known.empty() ? from.host : known;
    }

    // `beside` is the number of transfers that start on one machine at the same time.
    Coordinator::Order order(Speeds::Way way, Coordinator::Pace pace, std::size_t beside) const {
        const CableResult& cable = survey_.cables[way / 2];
        const LinkEnd &from = start_of(cable, way), &to = end_of(cable, way);
        const double rate = slower_end(cable).value_or(default_megabits) * 1e6 / 8;
        Push push{0, from.device, to.node, to.device, 0, 0, transfer_time, ipv4_of(from, to)};
        if (pace == Coordinator::Pace::in_turns) {
            push.least = least_alone;
            push.bytes = std::clamp(std::uint64_t(alone_seconds * rate), least_alone, most_alone);
        } else {
            push.bytes = std::clamp(std::uint64_t(together_seconds * rate), fewest_bytes,
                                    std::max(machine_bytes / beside, fewest_bytes));
            push.least = std::min(push.bytes, least_alone);
            push.time = together_time;
        }
        return {from.node, push};
    }

    // The address to which jobs connect, which rules of a firewall may name; empty if there is
    // none.
    std::string ipv4_of(const LinkEnd& from, const LinkEnd& to) const {
        const auto address = [&](const LinkEnd& end) -> const base::Address* {
            const config::Device* device =
                survey_.hosts[std::size_t(end.node)].facts.find(end.device);
            return device ? device->ipv4() : nullptr;
        };
        const base::Address *own = address(from), *far = address(to);
        return own && far && own->same_network(*far) ? far->text() : std::string();
    }

    std::optional<int> slower_end(const CableResult& cable) const {
        std::optional<int> slower;
        for (const LinkEnd* end : {&cable.a, &cable.b}) {
            const config::Device* device =
                survey_.hosts[std::size_t(end->node)].facts.find(end->device);
            if (!device || !device->megabits) continue;
            slower = slower ? std::min(*slower, *device->megabits) : *device->megabits;
        }
        return slower;
    }

    // ---- Counters ----

    // Packet errors that the kernels counted during the test, unless the cable already has a
    // finding.
    void judge_counters(const Reports& before, const Reports& after) {
        for (CableResult& cable : survey_.cables) {
            if (!cable.findings.empty()) continue;
            for (const LinkEnd* end : {&cable.a, &cable.b}) {
                const auto first = counters(before, *end), last = counters(after, *end);
                if (!first || !last) continue;
                const base::LinkCounters counted = last->since(*first);
                if (counted.damaged() > 0)
                    cable.findings.push_back(
                        {Fault::lossy,
                         fmt::format("the kernel of {} counted {} on {} during this test",
                                     end->host, counted.describe(), end->device)});
            }
        }
    }

    static std::optional<base::LinkCounters> counters(const Reports& reports, const LinkEnd& end) {
        for (const Counted& counted : reports[std::size_t(end.node)].counted)
            if (counted.device == end.device) return counted.counters;
        return std::nullopt;
    }

    Coordinator& coordinator_;
    const config::Settings& settings_;
    const SurveyOptions& options_;
    Survey survey_;
};

}  // namespace

Survey survey_cables(Coordinator& coordinator, const config::Settings& settings,
                     const SurveyOptions& options) {
    return CableSurvey(coordinator, settings, options).run();
}

}  // namespace torusmp::torus_check

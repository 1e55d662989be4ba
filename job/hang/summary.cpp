// SPDX-License-Identifier: BSD-3-Clause
#include "job/hang/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "base/units.h"
#include "job/hang/words.h"

namespace torusmp::job {
namespace {

bool one(const std::vector<Rank>& ranks) {
    return ranks.size() == 1;
}

const Waits& waits_of(const Snapshot& snapshot, Rank rank) {
    static const Waits none;
    const RankState& state = snapshot[std::size_t(rank)];
    return state.waits ? *state.waits : none;
}

std::string source_text(Rank rank) {
    return rank == any_source ? "any rank" : fmt::format("rank {}", rank);
}

std::string tag_text(const Operation& it) {
    if (it.channel) return "";
    return it.tag == any_tag ? ", any tag" : fmt::format(", tag {}", it.tag);
}

// " on name", unless it is obvious.
std::string group_text(const Waits& waits, core::Context context) {
    const Waits::Group* group = waits.find_group(context);
    if (group == nullptr || group->name.empty() || group->name == "MPI_COMM_WORLD" ||
        group->name == "QMP")
        return "";
    return " on " + group->name;
}

std::string call_of(const Waits& waits) {
    const Waits::Call* call = longest_call(waits);
    return call == nullptr || call->name.empty() ? "a call" : call->name;
}

// The action in words, such as "MPI_Recv from rank 3, tag 7"; if `alike`, without the parts that
// differ from rank to rank.
std::string action(const Waits& waits, bool alike = false) {
    const Needed what = needed(waits);
    std::string text = call_of(waits);
    if (what.operation >= 0) {
        const Operation& it = waits.operations[std::size_t(what.operation)];
        if (it.kind == Operation::Kind::access)
            return alike ? text
                         : text + fmt::format(", for {} (its window, or a lock that it holds)",
                                              source_text(it.peer));
        const bool sends = it.kind == Operation::Kind::send;
        if (sends) text += fmt::format(" of {}", base::describe_size(it.bytes));
        if (!alike) text += fmt::format(" {} {}", sends ? "to" : "from", source_text(it.peer));
        text += tag_text(it) + group_text(waits, it.context);
        if (it.stage == Operation::Stage::moving)
            text += fmt::format(
                " ({}of {} done)",
                it.done != 0 ? base::describe_size(it.done) + " " : std::string("part "),
                base::describe_size(it.bytes));
    } else if (what.collective >= 0) {
        const Collective& it = waits.collectives[std::size_t(what.collective)];
        if (it.root >= 0) text += fmt::format(", root {}", it.root);
        if (it.root >= 0 && it.bytes != Collective::any_bytes)
            text += fmt::format(", {}", base::describe_size(it.bytes));
        text += group_text(waits, it.context);
    } else if (!waits.queues.empty()) {
        text += alike ? ", for a credit"
                      : fmt::format(", for a credit of rank {}", waits.queues.front().peer);
    }
    return text;
}

// "MPI_Iprobe for a message from rank 3, tag 7"
std::string sought_text(const Waits& waits) {
    std::string text = waits.looks_in;
    if (waits.sought.empty()) return text;
    const Operation& it = waits.sought.front();
    if (it.kind == Operation::Kind::access)
        return text +
               fmt::format(" for {} (its window, or a lock that it holds)", source_text(it.peer));
    text += it.kind == Operation::Kind::send
                ? fmt::format(" for its send of {} to {}", base::describe_size(it.bytes),
                              source_text(it.peer))
                : " for a message from " + source_text(it.peer);
    text += tag_text(it) + group_text(waits, it.context);
    if (it.stage == Operation::Stage::moving) text += ", which has arrived in part";
    if (waits.sought.size() > 1) text += fmt::format(" and {} more", waits.sought.size() - 1);
    return text;
}

std::string state_text(const RankState& state, bool several) {
    const std::string where = state.where.empty() ? "" : fmt::format(" ({})", state.where);
    const char* s = several ? "" : "s";
    const char* is = several ? "are" : "is";
    switch (state.kind) {
        case RankState::Kind::answered:
            if (state.waits && !state.waits->looks_in.empty())
                return fmt::format("repeatedly call{} {}", s, sought_text(*state.waits));
            return fmt::format("compute{} and sometimes call{} the library", s, s);
        case RankState::Kind::computes:
            return fmt::format("compute{}", s);
        case RankState::Kind::sleeps:
            return fmt::format("sleep{} outside the library{}", s, where);
        case RankState::Kind::stopped:
            return fmt::format("{} stopped by a signal (kill -CONT)", is);
        case RankState::Kind::traced:
            return fmt::format("{} held by a debugger", is);
        case RankState::Kind::device:
            return fmt::format("wait{} for a device{}", s, where);
        case RankState::Kind::outside:
            return fmt::format("{} not called MPI_Init or QMP_init_msg_passing{}",
                               several ? "have" : "has", where);
        case RankState::Kind::meeting:
            return fmt::format("wait{} for the other ranks at the start of the job", s);
        case RankState::Kind::finalized:
            return fmt::format("{} left the job", several ? "have" : "has");
        case RankState::Kind::ended:
            return fmt::format("{} ended", several ? "have" : "has");
        case RankState::Kind::silent:
            return fmt::format("do{} not answer", several ? "" : "es");
    }
    return {};
}

// The state of a rank, in a line of the table.
std::string deed(const RankState& state, bool several, bool alike) {
    if (!state.in_call()) return state_text(state, several);
    return fmt::format("wait{} in {}", several ? "" : "s", action(*state.waits, alike));
}

// "0 -> 3 -> 5 -> 0"
std::string arrows(const std::vector<Rank>& circle) {
    constexpr std::size_t most = 8;
    std::string text;
    if (circle.size() <= most) {
        for (const Rank rank : circle) text += fmt::format("{} -> ", rank);
        return text + std::to_string(circle.front());
    }
    for (std::size_t i = 0; i < 3; ++i) text += fmt::format("{} -> ", circle[i]);
    return fmt::format("{}... -> {} -> {} ({} ranks)", text, circle.back(), circle.front(),
                       circle.size());
}

// "sent tag 78, 4 B"
std::string message_text(const Waits& waits, const Waits::Message& it) {
    return fmt::format("{} tag {}, {}{}", it.at_sender ? "sends" : "sent", it.tag,
                       base::describe_size(it.bytes), group_text(waits, it.context));
}

std::string mismatch_text(const Cause& cause, const Snapshot& snapshot) {
    const Waits& waits = *snapshot[std::size_t(cause.ranks.front())].waits;
    const Operation& receive = waits.operations[std::size_t(cause.operation)];
    const Waits::Message& message = waits.messages[std::size_t(cause.message)];
    const double seconds = waits.calls.empty() ? 0 : longest_call(waits)->seconds;
    const std::string tag = receive.tag == any_tag ? "any tag" : fmt::format("tag {}", receive.tag);
    const bool groups_differ = receive.context != message.context;
    const auto named = [&](core::Context context) {
        const Waits::Group* group = waits.find_group(context);
        return groups_differ && group != nullptr ? " on " + group->name
                                                 : group_text(waits, context);
    };
    return fmt::format(
        "rank {} {} {} from {}{}; rank {} {} tag {}, {}{}, at least {} ago", waits.rank,
        receive.kind == Operation::Kind::probe ? "probes for" : "receives", tag,
        source_text(receive.peer), named(receive.context), message.source,
        message.at_sender ? "sends" : "sent", message.tag, base::describe_size(message.bytes),
        named(message.context), base::describe_duration(seconds));
}

std::string collective_text(const Waits& waits, int index) {
    const Collective& it = waits.collectives[std::size_t(index)];
    std::string text = fmt::format("rank {} called {}", waits.rank, call_of(waits));
    if (it.root >= 0) text += fmt::format(" with root {}", it.root);
    if (it.bytes != Collective::any_bytes)
        text +=
            fmt::format("{} {}", it.root >= 0 ? " and" : " with", base::describe_size(it.bytes));
    return text;
}

// A send that the program has created for this receive but not started.
std::string idle_text(const Snapshot& snapshot, Rank receiver, const Operation& receive) {
    for (const RankState& state : snapshot) {
        if (!state.waits) continue;
        for (const Operation& it : state.waits->operations)
            if (it.kind == Operation::Kind::idle_send && it.peer == receiver &&
                (receive.peer == any_source || receive.peer == state.waits->rank) &&
                it.channel == receive.channel && it.context == receive.context &&
                (it.channel || receive.tag == any_tag || receive.tag == it.tag))
                return fmt::format("; rank {} created that send but has not started it",
                                   state.waits->rank);
    }
    return {};
}

// Sends that wait for a receive that was created but not started.
std::string idle_receive_text(const Snapshot& snapshot, Rank sender, const Operation& send) {
    const RankState& state = snapshot[std::size_t(send.peer)];
    if (!state.waits) return {};
    for (const Operation& it : state.waits->operations)
        if (it.kind == Operation::Kind::idle_receive && it.channel == send.channel &&
            it.context == send.context && (it.peer == any_source || it.peer == sender) &&
            (it.channel || it.tag == any_tag || it.tag == send.tag))
            return fmt::format("; rank {} created that receive but has not started it", send.peer);
    return {};
}

std::string circle_text(const std::vector<Rank>& circle, const Snapshot& snapshot) {
    const auto waits = [&](Rank rank) -> const Waits& { return waits_of(snapshot, rank); };
    const bool alike = std::all_of(circle.begin(), circle.end(), [&](Rank rank) {
        return action(waits(rank), true) == action(waits(circle.front()), true);
    });
    std::string text = arrows(circle);
    if (alike && circle.size() > 1) {
        text += fmt::format(", all in {}", action(waits(circle.front()), true));
    } else {
        constexpr std::size_t most = 3;
        for (std::size_t i = 0; i < std::min(circle.size(), most); ++i)
            text += fmt::format("{} rank {} in {}", i == 0 ? ":" : ",", circle[i],
                                action(waits(circle[i])));
        if (circle.size() > most) text += ", ...";
    }
    for (const Rank rank : circle) {
        const Needed what = needed(waits(rank));
        if (what.operation < 0) continue;
        const Operation& it = waits(rank).operations[std::size_t(what.operation)];
        const std::string idle = it.kind == Operation::Kind::send
                                     ? idle_receive_text(snapshot, rank, it)
                                     : idle_text(snapshot, rank, it);
        if (!idle.empty()) return text + idle;
    }
    return text;
}

std::string live_text(const Cause& cause, const Snapshot& snapshot) {
    const RankState& root = snapshot[std::size_t(cause.ranks.front())];
    const bool several = !one(cause.ranks);
    if (cause.kind == Cause::Kind::underway)
        return fmt::format("{} {}: the data that {} {} for has been in transit for {}",
                           list_ranks(cause.ranks), deed(root, several, several),
                           several ? "they" : "it", several ? "wait" : "waits",
                           base::describe_duration(cause.seconds));
    return fmt::format(
        "{} wait{} for {}, which {}{}", list_ranks(cause.waiting), one(cause.waiting) ? "s" : "",
        list_ranks(cause.ranks), state_text(root, several),
        cause.seconds > 0 ? fmt::format("; {} so far", base::describe_duration(cause.seconds))
                          : "");
}

// "the cable from n0 eth0 (0+) to n1 eth1 (0-) has been silent for 3 s: ..."
std::string cable_text(const Cause& cause, const Snapshot& snapshot, const NameOfCable& name_of) {
    const Rank rank = cause.ranks.front();
    const Waits::Link& link = waits_of(snapshot, rank).links[std::size_t(cause.link)];
    std::string name = name_of && link.direction >= 0 ? name_of(rank, link.direction) : "";
    if (name.empty()) name = fmt::format("the {} of rank {}", link.name, rank);
    std::string text =
        fmt::format("{} has been silent for {}; {} that rank {} has sent over it {} unconfirmed",
                    name, base::describe_duration(link.silent), base::describe_size(link.bytes),
                    rank, link.bytes == 1 ? "is" : "are");
    if (!cause.waiting.empty())
        text +=
            fmt::format("; {} wait{}", list_ranks(cause.waiting), one(cause.waiting) ? "s" : "");
    return text + "; torus-check tests the cables";
}

// Ranks in the same state share a line.
std::vector<std::string> table(const Snapshot& snapshot, std::size_t most) {
    struct Row {
        std::vector<Rank> ranks;
        double least = 1e300, longest = 0;
        bool waits = false;
    };
    const auto rows_of = [&](bool alike) {
        std::map<std::string, Row> rows;
        for (std::size_t rank = 0; rank < snapshot.size(); ++rank) {
            const RankState& state = snapshot[rank];
            Row& row = rows[deed(state, true, alike)];
            row.ranks.push_back(Rank(rank));
            if (!state.in_call()) continue;
            const double seconds = longest_call(*state.waits)->seconds;
            row.waits = true;
            row.least = std::min(row.least, seconds);
            row.longest = std::max(row.longest, seconds);
        }
        return rows;
    };
    auto rows = rows_of(false);
    if (rows.size() > most) rows = rows_of(true);
    std::vector<const Row*> order;
    for (const auto& [text, row] : rows) order.push_back(&row);
    std::sort(order.begin(), order.end(),
              [](const Row* a, const Row* b) { return a->ranks.front() < b->ranks.front(); });
    const bool alike = rows_of(false).size() > most;
    std::vector<std::string> lines;
    for (const Row* row : order) {
        if (lines.size() + 1 == most && order.size() > most) {
            lines.push_back(
                fmt::format("and {} more groups of ranks", order.size() - lines.size()));
            break;
        }
        const RankState& state = snapshot[std::size_t(row->ranks.front())];
        std::string text =
            fmt::format("{} {}", list_ranks(row->ranks), deed(state, !one(row->ranks), alike));
        if (row->waits) text += fmt::format(", for {}", base::describe_duration(row->longest));
        lines.push_back(std::move(text));
    }
    return lines;
}

// For snapshots in which no rank waits in a call, because some poll repeatedly.
std::optional<std::string> lookers_text(const Snapshot& snapshot) {
    for (const RankState& state : snapshot)
        if (state.waits && !state.waits->looks_in.empty())
            return fmt::format("no rank waits in a call; rank {} {}", state.waits->rank,
                               state_text(state, false));
    return std::nullopt;
}

}  // namespace

std::string list_ranks(const std::vector<Rank>& ranks, std::size_t most_runs) {
    if (ranks.empty()) return "no rank";
    if (one(ranks)) return fmt::format("rank {}", ranks.front());
    std::vector<std::string> runs;
    std::size_t named = 0;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t end = i + 1;
        while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
        if (runs.size() == most_runs) break;
        if (end - i == 1)
            runs.push_back(std::to_string(ranks[i]));
        else
            runs.push_back(
                fmt::format("{}{}{}", ranks[i], end - i == 2 ? ", " : "-", ranks[end - 1]));
        named = i = end;
    }
    std::string text = fmt::format("ranks {}", fmt::join(runs, ", "));
    if (named < ranks.size()) return text + fmt::format(" and {} more", ranks.size() - named);
    const std::size_t comma = text.rfind(", ");
    if (comma != std::string::npos) text.replace(comma, 2, " and ");
    return text;
}

std::string describe(const Cause& cause, const Snapshot& snapshot, const NameOfCable& name_of) {
    const auto waits = [&](Rank rank) -> const Waits& { return waits_of(snapshot, rank); };
    const Rank first = cause.ranks.empty() ? 0 : cause.ranks.front();
    switch (cause.kind) {
        case Cause::Kind::mismatch:
            return mismatch_text(cause, snapshot);
        case Cause::Kind::differing:
            return fmt::format(
                "{}, but {}{}", collective_text(waits(first), cause.collective),
                collective_text(waits(cause.ranks[1]), cause.other_collective),
                group_text(waits(first),
                           waits(first).collectives[std::size_t(cause.collective)].context));
        case Cause::Kind::circle:
            return circle_text(cause.ranks, snapshot);
        case Cause::Kind::no_sender:
            return fmt::format("rank {} is in {}, but no rank can send it: {} {} too", first,
                               action(waits(first)), list_ranks(cause.waiting),
                               one(cause.waiting) ? "waits" : "wait");
        case Cause::Kind::gone:
            return fmt::format("{} {} in {}, and {} {}", list_ranks(cause.waiting),
                               one(cause.waiting) ? "waits" : "wait",
                               action(waits(cause.waiting.front())), list_ranks(cause.ranks),
                               cause.ranks.empty()
                                   ? "can send it"
                                   : state_text(snapshot[std::size_t(first)], !one(cause.ranks)));
        case Cause::Kind::cable:
            return cable_text(cause, snapshot, name_of);
        default:
            return live_text(cause, snapshot);
    }
}

std::string Summary::text(const std::string& indent) const {
    std::string all = first + "\n";
    for (const std::string& line : lines) all += indent + line + "\n";
    return all;
}

Summary summarize(const Snapshot& snapshot, const NameOfCable& name_of) {
    Summary summary;
    const std::vector<Cause> causes = find_causes(snapshot);
    if (causes.empty()) {
        summary.first = lookers_text(snapshot).value_or("no rank waits for another");
    } else {
        summary.final = causes.front().final();
        summary.first =
            fmt::format("{}: {}", summary.final ? "the job cannot go on" : "the job waits",
                        describe(causes.front(), snapshot, name_of));
    }
    constexpr std::size_t most_causes = 4;
    for (std::size_t i = 1; i < std::min(causes.size(), most_causes); ++i)
        summary.lines.push_back("also: " + describe(causes[i], snapshot, name_of));
    if (causes.size() > most_causes)
        summary.lines.push_back(fmt::format("and {} more causes", causes.size() - most_causes));
    summary.least_seconds = 1e300;
    for (const Cause& cause : causes) {
        if (!cause.final()) continue;
        for (const auto* list : {&cause.ranks, &cause.waiting})
            for (const Rank rank : *list)
                if (const RankState& state = snapshot[std::size_t(rank)]; state.in_call())
                    summary.least_seconds =
                        std::min(summary.least_seconds, longest_call(*state.waits)->seconds);
    }
    const auto rows = table(snapshot, most_summary_lines - 1 - summary.lines.size());
    summary.lines.insert(summary.lines.end(), rows.begin(), rows.end());
    return summary;
}

std::string report_of(Rank rank, const RankState& state, int ranks) {
    if (state.waits)
        return core::describe(*state.waits,
                              [](Rank other) { return fmt::format("rank {}", other); });
    return fmt::format("rank {} of {}: it {}", rank, ranks, state_text(state, false));
}

std::vector<std::string> describe_leftovers(const Waits& waits) {
    std::vector<std::string> lines;
    const auto misses = near_misses(waits);
    for (std::size_t k = 0; k < waits.messages.size(); ++k) {
        const Waits::Message& message = waits.messages[k];
        const Waits::Group* group = waits.find_group(message.context);
        if (message.channel || group == nullptr || !group->messages) continue;
        std::string text = fmt::format("rank {} {}, which was never received", message.source,
                                       message_text(waits, message));
        const auto miss = std::find_if(misses.begin(), misses.end(),
                                       [&](const NearMiss& it) { return it.message == int(k); });
        if (miss != misses.end()) {
            const Operation& receive = waits.operations[std::size_t(miss->operation)];
            text +=
                fmt::format("; rank {} receives {} from {}{}", waits.rank,
                            receive.tag == any_tag ? "any tag" : fmt::format("tag {}", receive.tag),
                            source_text(receive.peer), group_text(waits, receive.context));
        }
        lines.push_back(std::move(text));
    }
    return lines;
}

}  // namespace torusmp::job

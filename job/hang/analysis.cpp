// SPDX-License-Identifier: BSD-3-Clause
#include "job/hang/analysis.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "job/hang/transit.h"
#include "job/hang/wait_graph.h"
#include "job/hang/words.h"

namespace torusmp::job {
namespace {

// Tags of collectives count upwards in their high bits, and wrap around.
bool is_later(core::Tag tag, core::Tag than) {
    constexpr int shift = 7;
    constexpr core::Tag counted = 0x3ffff;
    const core::Tag ahead = ((tag >> shift) - (than >> shift)) & counted;
    return ahead != 0 && ahead <= counted / 2;
}

bool differ(const Collective& a, const Collective& b) {
    const bool sizes =
        a.bytes != b.bytes && a.bytes != Collective::any_bytes && b.bytes != Collective::any_bytes;
    return a.name != b.name || a.root != b.root || sizes;
}

class Analyst {
  public:
    explicit Analyst(const Snapshot& snapshot)
        : snapshot_(snapshot), transit_(snapshot), graph_(int(snapshot.size())) {
        find_instances();
        for (Rank rank = 0; rank < ranks(); ++rank) {
            if (state(rank).gone()) graph_.bury(rank);
            if (meets(rank))
                need_everybody(rank);
            else if (state(rank).in_call())
                add_needs(rank);
        }
    }

    std::vector<Cause> causes() {
        if (!transit_.unsettled())
            for (const auto& knot : graph_.knots()) add_knot(knot);
        add_silent_links();
        add_live_roots();
        std::stable_sort(all_.begin(), all_.end(), [](const Cause& a, const Cause& b) {
            if (a.final() != b.final()) return a.final();
            const bool silent = a.kind == Cause::Kind::cable;
            if (silent != (b.kind == Cause::Kind::cable)) return silent;
            if (a.waiting.size() != b.waiting.size() && !a.final())
                return a.waiting.size() > b.waiting.size();
            return a.kind < b.kind;
        });
        return std::move(all_);
    }

  private:
    int ranks() const { return int(snapshot_.size()); }
    const RankState& state(Rank rank) const { return snapshot_[std::size_t(rank)]; }
    const Waits& waits(Rank rank) const {
        static const Waits none;
        return state(rank).waits ? *state(rank).waits : none;
    }

    // ---- links ----

    // Both ends of a link, and all links between the same ranks, are one cause: the longest silent
    // one.
    void add_silent_links() {
        std::map<std::pair<Rank, Rank>, Cause> found;
        for (Rank rank = 0; rank < ranks(); ++rank)
            for (std::size_t i = 0; i < waits(rank).links.size(); ++i) {
                const Waits::Link& it = waits(rank).links[i];
                if (it.silent < silent_for) continue;
                Cause& cause = found[{std::min(rank, it.peer), std::max(rank, it.peer)}];
                if (it.silent <= cause.seconds) continue;
                cause.kind = Cause::Kind::cable;
                cause.ranks = {rank, it.peer};
                cause.link = int(i);
                cause.seconds = it.silent;
            }
        const std::vector<bool> stuck = graph_.stuck();
        for (auto& [ends, cause] : found) {
            for (Rank rank = 0; rank < ranks(); ++rank)
                if (state(rank).in_call() && (stuck[std::size_t(rank)] || !graph_.waits(rank)))
                    cause.waiting.push_back(rank);
            has_silence_ = true;
            all_.push_back(std::move(cause));
        }
    }

    // ---- collectives, as seen by all their members ----

    struct Instance {
        std::map<Rank, int> arrived;  // the member, and the index of the call among its collectives
        std::vector<Rank> missing;
        bool held_up = false;  // by a rank outside the group
    };
    using Key = std::pair<core::Context, core::Tag>;

    static Key key_of(const Collective& it) { return {it.context, it.tag}; }

    void find_instances() {
        for (Rank rank = 0; rank < ranks(); ++rank) {
            if (!state(rank).waits) continue;
            const auto& open = waits(rank).collectives;
            for (std::size_t i = 0; i < open.size(); ++i)
                instances_[key_of(open[i])].arrived.emplace(rank, int(i));
        }
        for (auto& [key, instance] : instances_) {
            const Waits::Group* group =
                waits(instance.arrived.begin()->first).find_group(key.first);
            if (group == nullptr) continue;
            for (const Rank member : group->members)
                if (!instance.arrived.contains(member) && !is_past(member, key))
                    instance.missing.push_back(member);
            instance.held_up = !instance.missing.empty();
        }
        for (auto& [key, instance] : instances_)
            for (const auto& [rank, index] : instance.arrived)
                for (const Rank peer : waits(rank).collectives[std::size_t(index)].receives_from)
                    if (!instance.arrived.contains(peer) && !transit_.packets(peer, rank) &&
                        !transit_.pieces(peer, rank, key.first))
                        instance.held_up = true;
    }
    bool is_past(Rank member, const Key& key) const {
        if (!state(member).waits) return false;
        const Waits::Group* group = waits(member).find_group(key.first);
        return group != nullptr && group->last >= 0 &&
               (group->last == key.second || is_later(group->last, key.second));
    }

    // ---- the needs of each rank ----

    bool meets(Rank rank) const {
        return state(rank).kind == RankState::Kind::meeting || waits(rank).meeting;
    }
    void need_everybody(Rank rank) {
        for (Rank other = 0; other < ranks(); ++other)
            if (!meets(other) && !state(other).gone()) graph_.need(rank, {other});
    }

    void add_needs(Rank rank) {
        const Waits& mine = waits(rank);
        std::vector<std::vector<Rank>> clauses;
        bool under_way = false;  // one of the awaited messages
        bool awaits = false;
        const bool known = std::any_of(mine.operations.begin(), mine.operations.end(),
                                       [](const Operation& it) { return it.call >= 0; }) ||
                           std::any_of(mine.collectives.begin(), mine.collectives.end(),
                                       [](const Collective& it) { return it.call >= 0; });
        for (const Operation& it : mine.operations) {
            if (is_idle(it) || (known && it.call < 0)) continue;
            awaits = true;
            if (auto clause = clause_of(rank, it))
                clauses.push_back(std::move(*clause));
            else
                under_way = true;
        }
        for (const Collective& it : mine.collectives) {
            if (known && it.call < 0) continue;
            awaits = true;
            under_way |= !add_clauses(rank, it, clauses);
        }
        if (!awaits && !mine.queues.empty())
            if (auto holders = transit_.holders_of(rank); !holders.empty())
                clauses.push_back(std::move(holders));
        if (clauses.empty()) return;
        // One of several is enough, if the call waits for any of them or several threads wait.
        const bool any = mine.calls.size() > 1 || mine.calls.front().any;
        if (!any) {
            for (auto& clause : clauses) graph_.need(rank, std::move(clause));
            return;
        }
        if (under_way) return;
        std::vector<Rank> together;
        for (const auto& clause : clauses)
            together.insert(together.end(), clause.begin(), clause.end());
        std::sort(together.begin(), together.end());
        together.erase(std::unique(together.begin(), together.end()), together.end());
        graph_.need(rank, std::move(together));
    }

    // Empty if it is in progress.
    std::optional<std::vector<Rank>> clause_of(Rank rank, const Operation& it) const {
        if (it.stage == Operation::Stage::moving) {
            // Both ends have to make progress.
            if (it.peer == any_source || state(it.peer).waits) return std::nullopt;
            return std::vector{it.peer};
        }
        if (it.kind == Operation::Kind::access) return std::vector{it.peer};
        if (it.kind == Operation::Kind::send) {
            if (transit_.meets_receive(rank, it)) return std::nullopt;
            return std::vector{it.peer};
        }
        if (it.peer != any_source) {
            if (transit_.meets_send(it.peer, rank, it) || transit_.packets(it.peer, rank))
                return std::nullopt;
            return std::vector{it.peer};
        }
        std::vector<Rank> senders;
        const Waits::Group* group = waits(rank).find_group(it.context);
        if (group != nullptr && !group->members.empty())
            senders = group->members;
        else
            for (Rank other = 0; other < ranks(); ++other) senders.push_back(other);
        for (const Rank other : senders)
            if (transit_.meets_send(other, rank, it) || transit_.packets(other, rank))
                return std::nullopt;
        std::erase(senders, rank);
        return senders;
    }
    // Returns false if it is in progress.
    bool add_clauses(Rank rank, const Collective& it,
                     std::vector<std::vector<Rank>>& clauses) const {
        const Instance& instance = instances_.at(key_of(it));
        if (!instance.held_up && !differs(instance)) return false;
        const auto comes = [&](Rank peer) {
            return transit_.packets(peer, rank) || transit_.pieces(peer, rank, it.context);
        };
        // An arriving message may be all it needs.
        if (std::any_of(it.receives_from.begin(), it.receives_from.end(), comes)) return false;
        const std::size_t before = clauses.size();
        for (const Rank member : instance.missing) clauses.push_back({member});
        for (const Rank peer : it.receives_from) clauses.push_back({peer});
        if (differs(instance))
            for (const auto& [member, index] : instance.arrived)
                if (&waits(member).collectives[std::size_t(index)] != &it)
                    clauses.push_back({member});
        return clauses.size() != before;
    }
    bool differs(const Instance& instance) const { return first_difference(instance).has_value(); }
    std::optional<std::pair<Rank, Rank>> first_difference(const Instance& instance) const {
        const auto [first, at] = *instance.arrived.begin();
        const Collective& reference = waits(first).collectives[std::size_t(at)];
        for (const auto& [rank, index] : instance.arrived)
            if (differ(reference, waits(rank).collectives[std::size_t(index)]))
                return std::pair{first, rank};
        return std::nullopt;
    }

    // ---- causes ----

    double seconds_of(const std::vector<Rank>& ranks) const {
        double most = 0;
        for (const Rank rank : ranks)
            if (state(rank).waits)
                for (const auto& call : waits(rank).calls) most = std::max(most, call.seconds);
        return most;
    }

    void add_knot(const std::vector<Rank>& knot) {
        Cause cause;
        cause.ranks = knot;
        cause.seconds = seconds_of(knot);
        if (!find_mismatch(knot, cause) && !find_difference(knot, cause)) {
            const std::vector<Rank> circle = graph_.circle(knot);
            const Rank first = knot.front();
            if (is_wildcard(first) && circle.size() != 1 && find_wildcard(knot, cause)) {
                // cause.ranks is the one that receives
            } else if (!circle.empty()) {
                cause.kind = Cause::Kind::circle;
                cause.ranks = circle;
                if (const auto wild = wildcard_in(circle)) {
                    cause.kind = Cause::Kind::no_sender;
                    cause.ranks = {*wild};
                }
            } else {
                cause.kind = Cause::Kind::gone;
                cause.ranks = gone_that_hold(first);
                cause.waiting = knot;
            }
        }
        add_waiting(cause, knot);
        all_.push_back(std::move(cause));
    }
    // The other ranks that can never continue; if there are several knots, they go to the first.
    void add_waiting(Cause& cause, const std::vector<Rank>& knot) {
        const std::vector<bool> stuck = graph_.stuck();
        for (Rank rank = 0; rank < ranks(); ++rank) {
            const bool in_knot = std::find(knot.begin(), knot.end(), rank) != knot.end();
            const bool root =
                std::find(cause.ranks.begin(), cause.ranks.end(), rank) != cause.ranks.end();
            if (root || (in_knot && cause.kind == Cause::Kind::gone)) continue;
            if (stuck[std::size_t(rank)] && (in_knot || reaches(rank, knot)))
                cause.waiting.push_back(rank);
        }
        cause.seconds = std::max(cause.seconds, seconds_of(cause.waiting));
    }
    bool reaches(Rank from, const std::vector<Rank>& knot) const {
        std::vector<bool> seen(snapshot_.size());
        std::vector<Rank> next{from};
        seen[std::size_t(from)] = true;
        while (!next.empty()) {
            const Rank rank = next.back();
            next.pop_back();
            if (std::find(knot.begin(), knot.end(), rank) != knot.end()) return true;
            for (const auto& clause : graph_.clauses(rank))
                for (const Rank other : clause)
                    if (!seen[std::size_t(other)]) {
                        seen[std::size_t(other)] = true;
                        next.push_back(other);
                    }
        }
        return false;
    }

    // Where the receiver is stuck, and the sender is stuck too or has nothing more to send.
    bool find_mismatch(const std::vector<Rank>& knot, Cause& cause) const {
        const std::vector<bool> stuck = graph_.stuck();
        const auto sends_no_more = [&](Rank rank) {
            return stuck[std::size_t(rank)] || state(rank).gone();
        };
        for (const bool awaited : {true, false})
            for (const Rank rank : knot)
                for (const NearMiss& miss : near_misses(waits(rank))) {
                    const Operation& receive = waits(rank).operations[std::size_t(miss.operation)];
                    const Rank sender = waits(rank).messages[std::size_t(miss.message)].source;
                    if ((receive.call >= 0) != awaited || !sends_no_more(sender)) continue;
                    cause.kind = Cause::Kind::mismatch;
                    cause.ranks = {rank, sender};
                    cause.operation = miss.operation;
                    cause.message = miss.message;
                    return true;
                }
        return false;
    }
    bool find_difference(const std::vector<Rank>& knot, Cause& cause) const {
        for (const Rank rank : knot)
            for (const Collective& it : waits(rank).collectives) {
                const Instance& instance = instances_.at(key_of(it));
                const auto found = first_difference(instance);
                if (!found) continue;
                cause.kind = Cause::Kind::differing;
                cause.ranks = {found->first, found->second};
                cause.collective = instance.arrived.at(found->first);
                cause.other_collective = instance.arrived.at(found->second);
                return true;
            }
        return false;
    }
    bool is_wildcard(Rank rank) const {
        const Needed what = needed(waits(rank));
        return what.operation >= 0 &&
               is_receive(waits(rank).operations[std::size_t(what.operation)]) &&
               waits(rank).operations[std::size_t(what.operation)].peer == any_source;
    }
    std::optional<Rank> wildcard_in(const std::vector<Rank>& ranks) const {
        const auto found =
            std::find_if(ranks.begin(), ranks.end(), [&](Rank rank) { return is_wildcard(rank); });
        if (found == ranks.end()) return std::nullopt;
        return *found;
    }
    bool find_wildcard(const std::vector<Rank>& knot, Cause& cause) const {
        const auto wild = wildcard_in(knot);
        if (!wild) return false;
        cause.kind = Cause::Kind::no_sender;
        cause.ranks = {*wild};
        return true;
    }
    std::vector<Rank> gone_that_hold(Rank rank) const {
        std::vector<Rank> found;
        for (const auto& clause : graph_.clauses(rank))
            if (std::all_of(clause.begin(), clause.end(),
                            [&](Rank other) { return graph_.gone(other); }))
                found.insert(found.end(), clause.begin(), clause.end());
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return found;
    }

    static Cause::Kind kind_of(const RankState& state) {
        switch (state.kind) {
            case RankState::Kind::stopped:
                return Cause::Kind::stopped;
            case RankState::Kind::traced:
                return Cause::Kind::traced;
            case RankState::Kind::sleeps:
                return Cause::Kind::sleeps;
            case RankState::Kind::outside:
                return Cause::Kind::outside;
            case RankState::Kind::device:
                return Cause::Kind::device;
            case RankState::Kind::silent:
                return Cause::Kind::silent;
            case RankState::Kind::answered:
                return state.in_call() ? Cause::Kind::underway : Cause::Kind::computes;
            default:
                return Cause::Kind::computes;
        }
    }
    void add_under_way(Rank rank) { live_[Cause::Kind::underway].ranks.push_back(rank); }
    // Ranks that could continue, and on which others wait: ranks in the same state are one cause.
    void add_live_roots() {
        std::vector<bool> stuck = graph_.stuck();
        if (transit_.unsettled()) {  // no rank is known to be one
            for (Rank rank = 0; rank < ranks(); ++rank)
                if (stuck[std::size_t(rank)] && !has_silence_) add_under_way(rank);
            std::fill(stuck.begin(), stuck.end(), false);
        }
        const auto roots = graph_.roots();
        auto& found = live_;
        for (Rank rank = 0; rank < ranks(); ++rank) {
            if (stuck[std::size_t(rank)]) continue;
            for (const Rank root : roots[std::size_t(rank)]) {
                if (state(root).gone()) continue;
                Cause& cause = found[kind_of(state(root))];
                cause.ranks.push_back(root);
                cause.waiting.push_back(rank);
            }
        }
        for (Rank rank = 0; rank < ranks(); ++rank)  // no other rank waits for these
            if (state(rank).in_call() && !graph_.waits(rank) && !has_silence_) add_under_way(rank);
        for (auto& [kind, cause] : found) {
            cause.kind = kind;
            for (auto* list : {&cause.ranks, &cause.waiting}) {
                std::sort(list->begin(), list->end());
                list->erase(std::unique(list->begin(), list->end()), list->end());
            }
            std::erase_if(cause.waiting, [&](Rank rank) {
                return std::binary_search(cause.ranks.begin(), cause.ranks.end(), rank);
            });
            cause.seconds = seconds_of(cause.waiting.empty() ? cause.ranks : cause.waiting);
            all_.push_back(cause);
        }
    }

    const Snapshot& snapshot_;
    const Transit transit_;
    WaitGraph graph_;
    std::map<Key, Instance> instances_;
    bool has_silence_ = false;  // long enough to be reported
    std::map<Cause::Kind, Cause> live_;
    std::vector<Cause> all_;
};

}  // namespace

std::vector<Cause> find_causes(const Snapshot& snapshot) {
    return Analyst(snapshot).causes();
}

}  // namespace torusmp::job

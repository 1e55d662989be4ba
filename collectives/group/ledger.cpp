// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/group/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "collectives/group/group.h"

namespace torusmp::collectives {

std::string Verdict::text() const {
    if (by_message == 0) return describe_difference(culprit, other);
    if (found != expected && culprit.rank == other.rank)
        return describe_own_block(fmt::format("rank {}", culprit.rank), found, expected);
    if (found != expected)
        return fmt::format(
            "rank {} sent {} bytes where {} were expected by rank {}: the members gave different "
            "counts or types{}",
            culprit.rank, found, expected, other.rank, advise_check(other));
    return fmt::format("the data sent by rank {} does not match the call of rank {}: {}{}",
                       culprit.rank, other.rank, core::describe(error), advise_check(other));
}

Ledger::Ledger(const Group& group, core::Tag kind)
    : runtime_(&group.runtime()), group_(group), kind_(kind) {
    runtime_->notes().add_reader(group.context(), *this);
    runtime_->add_reporter(*this);
}

Ledger::~Ledger() {
    if (runtime_ == nullptr) return;
    runtime_->remove_reporter(*this);
    runtime_->notes().remove_reader(*this);
}

void Ledger::report(core::Waits& waits) const {
    core::Waits::Group& group = waits.group(group_.context());
    group.members = group_.members();
    if (last_ != 0) group.last = last_;
    if (group_.names() != nullptr) group_.names()->report(waits);
}

// ---- this member's own calls ----

void Ledger::answer(core::Tag tag) {
    asked_ = -1;
    send(clerk(), tag, statement_of(tag));
}

void Ledger::forget_case(core::Tag tag) {
    cases_.erase(tag);
    overviews_.erase(tag);
}

const Ledger::Entry* Ledger::find(core::Tag tag) const {
    const Entry& entry = entries_[place_of(tag)];
    return entry.tag == tag ? &entry : nullptr;
}

// Whether a tag is later than every call begun here. Counts wrap around. A collective with a fixed
// tag may begin at any time and repeatedly: if it is not remembered, it counts as later.
bool Ledger::is_later(core::Tag tag) const {
    if (Tags::is_fixed(tag)) return find(tag) == nullptr;
    const core::Tag ahead = ((tag >> Tags::shift) - (last_ >> Tags::shift)) & Tags::counted;
    return ahead != 0 && ahead <= Tags::counted / 2;
}

CallRecord Ledger::record_of(const Entry& entry) const {
    return CallRecord::of(entry.name, entry.call, group_.rank_of(group_.member()));
}

Ledger::Note Ledger::statement_of(core::Tag tag) const {
    Note note;
    if (const Entry* entry = find(tag)) {
        note.state = State::called;
        note.verdict.culprit = record_of(*entry);
        return note;
    }
    note.state = is_later(tag) ? State::not_yet : State::past;
    note.verdict.culprit =
        CallRecord::of(runtime_->notes().waits_in(), {}, group_.rank_of(group_.member()));
    return note;
}

void Ledger::inquire(core::Tag tag, int round) {
    Note note = statement_of(tag);
    note.round = round;
    if (clerk() == group_.member())
        hear_statement(group_.member(), tag, note);
    else
        send(clerk(), tag, note);
}

void Ledger::accuse(core::Tag tag, const Verdict& verdict) {
    judge(tag, verdict);
    verdicts_.erase(tag);  // the accusing member already knows
    remember(tag, verdict);
}

std::optional<Verdict> Ledger::take_verdict(core::Tag tag) {
    const auto found = verdicts_.find(tag);
    if (found == verdicts_.end()) return std::nullopt;
    const Verdict verdict = found->second;
    verdicts_.erase(found);
    remember(tag, verdict);
    return verdict;
}

void Ledger::remember(core::Tag tag, const Verdict& verdict) {
    Entry& entry = entry_of(tag);
    if (entry.tag != tag) return;
    entry.ended = true;
    ended_[place_of(tag)] = verdict;
}

// The verdict that has ended a call here, or will.
const Verdict* Ledger::verdict_on(core::Tag tag) const {
    if (const auto found = verdicts_.find(tag); found != verdicts_.end()) return &found->second;
    const Entry* const entry = find(tag);
    return entry != nullptr && entry->ended ? &ended_.at(place_of(tag)) : nullptr;
}

void Ledger::send_verdict(int member, core::Tag tag, const Verdict& verdict) {
    Note note;
    note.kind = Kind::verdict;
    note.verdict = verdict;
    send(member, tag, note);
}

// ---- notes from other members ----

int Ledger::clerk() const {
    return group_.member_at(0);
}

void Ledger::send(int member, core::Tag tag, const Note& note) {
    runtime_->notes().send(group_.rank_of(member), group_.context(), tag,
                           std::as_bytes(std::span(&note, 1)));
}

bool Ledger::on_note(core::Rank source, core::Tag tag, transport::ConstBytes bytes) {
    static_assert(sizeof(Note) <= core::Notes::longest);
    if (tag < 0 || (tag & 3) != kind_) return true;  // for another group in this context
    const auto& members = group_.members();
    const auto found = std::find(members.begin(), members.end(), source);
    if (found == members.end() || bytes.size() != sizeof(Note)) return false;
    const int member = int(found - members.begin());
    Note note;
    std::memcpy(&note, bytes.data(), sizeof note);
    note.verdict.culprit.close();
    note.verdict.other.close();
    switch (note.kind) {
        case Kind::statement:
            if (clerk() != group_.member() || note.state > State::past) return false;
            if (const Verdict* const known = verdict_on(tag))
                send_verdict(member, tag, *known);
            else
                hear_statement(member, tag, note);
            return true;
        case Kind::question:
            if (const Verdict* const known = verdict_on(tag)) {
                send_verdict(member, tag, *known);
                return true;
            }
            if (is_later(tag)) asked_ = tag;
            send(member, tag, statement_of(tag));
            return true;
        case Kind::verdict:
            hear_verdict(tag, note.verdict);
            return true;
        case Kind::overview:
            if (const Entry* entry = find(tag); entry != nullptr && !entry->done)
                overviews_[tag] = {note.state, note.verdict.culprit, note.others};
            while (overviews_.size() > most_cases) overviews_.erase(overviews_.begin());
            return true;
    }
    return false;
}

void Ledger::hear_verdict(core::Tag tag, const Verdict& verdict) {
    cases_.erase(tag);
    // Messages that have arrived for it will never be received.
    runtime_->notes().discard(group_.context(), tag * max_streams,
                              tag * max_streams + max_streams - 1);
    const Entry* entry = find(tag);
    if (entry == nullptr ? !is_later(tag) : entry->done) return remember(tag, verdict);
    verdicts_.emplace(tag, verdict);
    while (verdicts_.size() > most_cases) verdicts_.erase(verdicts_.begin());
    runtime_->notes().count_fault();
}

// ---- the clerk ----

Ledger::Case& Ledger::case_of(core::Tag tag) {
    const auto [found, is_new] = cases_.try_emplace(tag);
    Case& about = found->second;
    if (is_new) about.heard.assign(std::size_t(group_.size()), State::silent);
    while (cases_.size() > most_cases)
        cases_.erase(cases_.begin() == found ? std::next(found) : cases_.begin());
    return about;
}

void Ledger::hear_statement(int member, core::Tag tag, const Note& note) {
    Case& about = case_of(tag);
    const auto hear = [&](int from, State state, CallRecord record) {
        record.rank = group_.rank_of(from);
        State& heard = about.heard[std::size_t(from)];
        heard = state;
        about.missing.erase(from);
        if (state == State::not_yet) about.missing[from] = record;
        if (state != State::called) return true;
        if (!about.first) about.first = record;
        if (!about.first->may_meet(record)) {
            judge_calls(tag, *about.first, record);
            return false;
        }
        if (!about.first->like(record)) about.odd = record;
        return true;
    };
    const Note own = statement_of(tag);
    if (!hear(group_.member(), own.state, own.verdict.culprit)) return;
    if (!hear(member, note.state, note.verdict.culprit)) return;
    // A difference in the operation must not end a call in which a member is only late.
    const auto called = [](State state) { return state == State::called; };
    if (about.odd && std::all_of(about.heard.begin(), about.heard.end(), called))
        return judge_calls(tag, *about.first, *about.odd);
    if (note.round < 0) return;
    if (note.round > about.asked) {
        about.asked = note.round;
        ask(tag, about);
    }
    if (note.round == 0 || member == group_.member()) return;
    const Overview overview = overview_of(about);
    Note answer;
    answer.kind = Kind::overview;
    answer.state = overview.state;
    answer.others = overview.others;
    answer.verdict.culprit = overview.missing;
    send(member, tag, answer);
}

void Ledger::judge_calls(core::Tag tag, const CallRecord& first, const CallRecord& odd) {
    Verdict verdict;
    verdict.culprit = odd;
    verdict.other = first;
    if (!first.same_size(odd)) {
        verdict.found = odd.bytes;
        verdict.expected = first.bytes;
    }
    judge(tag, verdict);
}

void Ledger::ask(core::Tag tag, const Case& about) {
    Note question;
    question.kind = Kind::question;
    for (int member = 0; member < group_.size(); ++member)
        if (member != group_.member() && about.heard[std::size_t(member)] != State::called)
            send(member, tag, question);
}

// Sends the verdict to all members.
void Ledger::judge(core::Tag tag, const Verdict& verdict) {
    for (int member = 0; member < group_.size(); ++member)
        if (member != group_.member()) send_verdict(member, tag, verdict);
    hear_verdict(tag, verdict);
}

// The first member that has not called it; if all have called, the first that does not answer.
Ledger::Overview Ledger::overview_of(const Case& about) const {
    Overview overview;
    std::uint32_t missing = 0;
    for (const State wanted : {State::not_yet, State::silent, State::past})
        for (int member = 0; member < group_.size(); ++member) {
            if (about.heard[std::size_t(member)] != wanted) continue;
            if (missing++ != 0) continue;
            overview.state = wanted;
            const auto known = about.missing.find(member);
            overview.missing = known != about.missing.end() ? known->second : CallRecord{};
            overview.missing.rank = group_.rank_of(member);
        }
    if (missing == 0) overview.state = State::called;
    overview.others = missing == 0 ? 0 : missing - 1;
    return overview;
}

std::string Ledger::describe(core::Tag tag) const {
    Overview known;
    if (const auto about = cases_.find(tag); about != cases_.end())
        known = overview_of(about->second);
    else if (const auto said = overviews_.find(tag); said != overviews_.end())
        known = said->second;
    else
        return {};
    std::string text;
    switch (known.state) {
        case State::called:
            return "all members have made the same call";
        case State::not_yet:
            text = fmt::format("rank {} has not called it", known.missing.rank);
            if (known.missing.name[0] != '\0')
                text += fmt::format(": it waits in {}", known.missing.name);
            break;
        case State::past:
            text = fmt::format("rank {} has completed it", known.missing.rank);
            break;
        case State::silent:
            text = fmt::format("rank {} does not answer: it computes, or is stopped",
                               known.missing.rank);
            break;
    }
    if (known.others != 0)
        text += fmt::format("; {} more ranks have not called it or do not answer", known.others);
    return text;
}

}  // namespace torusmp::collectives

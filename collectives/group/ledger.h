// SPDX-License-Identifier: BSD-3-Clause
// What a member of a group knows of the calls of the others, and they of its own, so that a
// collective on which the members disagree ends on all of them, and nobody waits for ever.
//
// A member that receives what does not fit its own call tells all others at once. Where no message
// shows the disagreement, because it leads members to different algorithms, members that have
// waited long tell the clerk, the member at place 0, what they called. The clerk asks those from
// whom it has not heard, compares, and tells all when two calls differ. Slowness ends nothing:
// members that have not called yet, or do not answer because they compute, are only named in
// reports. All of it travels in notes, a few for each member and long wait.
//
// The last calls are remembered, since a member may have ended a call well that others never can.
// There is one Ledger for each group with collectives of its own. Used under the Runtime's lock.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/group/call.h"
#include "collectives/group/tags.h"
#include "core/api.h"

namespace torusmp::collectives {

class Group;

// Why a collective has ended on all members.
struct Verdict {
    core::Error error = core::Error::mismatch;
    std::uint8_t by_message = 0;  // else by the calls
    std::uint16_t unused = 0;
    std::uint32_t unused_too = 0;
    // Whose message, or call, it is, and who did not expect it.
    CallRecord culprit{};
    CallRecord other{};
    // Bytes of the message, and bytes expected; if equal, something else was wrong with it.
    std::uint64_t found = 0;
    std::uint64_t expected = 0;

    std::string text() const;
};

class Ledger final : private core::NoteReader, private core::Reporter {
  public:
    // kind: the low bits of the tags of the group's collectives, see Tags.
    Ledger(const Group& group, core::Tag kind);
    ~Ledger();
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;

    // The member begins a collective, named by its tag, and ends it.
    void enter(core::Tag tag, std::string_view name, const Call& call) {
        if (!Tags::is_fixed(tag)) last_ = tag;
        Entry& entry = entry_of(tag);
        entry.tag = tag;
        entry.done = false;
        entry.name = name;
        entry.call = call;
        if (asked_ == tag) [[unlikely]]
            answer(tag);
    }
    void leave(core::Tag tag) {
        if (Entry& entry = entry_of(tag); entry.tag == tag) entry.done = true;
        if (!cases_.empty() || !overviews_.empty()) [[unlikely]]
            forget_case(tag);
    }
    // The member has waited long in it, for the round-th time, counted from 0.
    void inquire(core::Tag tag, int round);
    // The collective cannot end here, and so must not on the others.
    void accuse(core::Tag tag, const Verdict& verdict);
    // The verdict of another member that ends it here; returned once.
    std::optional<Verdict> take_verdict(core::Tag tag);
    // Who keeps members waiting in it, as far as is known; empty: nobody.
    std::string describe(core::Tag tag) const;

  private:
    enum class Kind : std::uint32_t { statement, question, verdict, overview };
    // What a member says about a collective.
    enum class State : std::uint32_t {
        silent,   // nothing
        called,   // the record is its call
        not_yet,  // it has not called it; the record's name is the call in which it waits, if any
        past,     // it has ended it, and does not remember with what arguments
    };
    struct Note {
        Kind kind = Kind::statement;
        State state = State::silent;
        std::int32_t round = -1;  // of waiting; -1: an answer
        std::uint32_t others = 0;
        Verdict verdict{};  // in statements, `culprit` is the call of the member that speaks
    };
    struct Entry {
        core::Tag tag = -1;
        bool done = false;
        std::string_view name;
        Call call;
    };
    // What the clerk has heard of one collective.
    struct Case {
        std::vector<State> heard;           // by member
        std::map<int, CallRecord> missing;  // those that have not called it, by member
        std::optional<CallRecord> first;    // the first call that it heard of
        std::optional<CallRecord> odd;      // one unlike it whose messages would fit all the same
        int asked = -1;                     // the last round in which it has asked the others
    };
    struct Overview {
        State state = State::silent;
        CallRecord missing{};
        std::uint32_t others = 0;
    };

    bool on_note(core::Rank source, core::Tag tag, transport::ConstBytes bytes) override;
    void on_end() override { runtime_ = nullptr; }
    void report(core::Waits& waits) const override;

    static std::size_t place_of(core::Tag tag) {
        return std::size_t(tag >> Tags::shift) % remembered;
    }
    void answer(core::Tag tag);  // the clerk has asked before it began
    void forget_case(core::Tag tag);
    Entry& entry_of(core::Tag tag) { return entries_[place_of(tag)]; }
    const Entry* find(core::Tag tag) const;
    bool is_later(core::Tag tag) const;
    Note statement_of(core::Tag tag) const;
    void hear_statement(int member, core::Tag tag, const Note& note);
    void hear_verdict(core::Tag tag, const Verdict& verdict);
    void judge(core::Tag tag, const Verdict& verdict);
    void judge_calls(core::Tag tag, const CallRecord& first, const CallRecord& odd);
    void ask(core::Tag tag, const Case& about);
    Overview overview_of(const Case& about) const;
    Case& case_of(core::Tag tag);
    void send(int member, core::Tag tag, const Note& note);
    int clerk() const;
    CallRecord record_of(const Entry& entry) const;

    static constexpr std::size_t remembered = 32;
    static constexpr std::size_t most_cases = 16;

    core::Runtime* runtime_;  // null: it has ended
    const Group& group_;
    const core::Tag kind_;
    core::Tag last_ = 0;    // the last begun of those that are counted
    core::Tag asked_ = -1;  // by the clerk, and not yet begun
    std::array<Entry, remembered> entries_{};
    std::map<core::Tag, Verdict> verdicts_;    // of what runs, or has not begun
    std::map<core::Tag, Overview> overviews_;  // what the clerk has said
    std::map<core::Tag, Case> cases_;          // at the clerk
};

}  // namespace torusmp::collectives

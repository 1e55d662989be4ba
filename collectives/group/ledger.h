// SPDX-License-Identifier: BSD-3-Clause
// The calls of the members of a group as known to each other, so that a collective on which the
// members disagree ends on all of them and does not hang.
//
// A member that receives a message that does not fit its own call informs all others immediately.
// If no message shows the disagreement, because it leads members to different algorithms, members
// that have waited long report their call to the clerk, the member at place 0. The clerk asks the
// silent members, compares the calls, and informs all members when two calls differ. Slowness does
// not end a call: members that have not called yet, or do not answer because they compute, are only
// named in reports. All of it travels in notes, a few for each member and long wait.
//
// The last calls and their verdicts are remembered, since a member may complete a call that others
// never can, and since a verdict does not reach a member that has not created the group yet: such a
// member waits long, and is answered with the verdict. There is
// one Ledger for each group with collectives of its own. Used under the Runtime's lock.
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

// The reason why a collective has ended on all members.
struct Verdict {
    core::Error error = core::Error::mismatch;
    std::uint8_t by_message = 0;  // found by a message; 0 if found by comparing calls
    std::uint16_t unused = 0;
    std::uint32_t unused_too = 0;
    // The call of the sender of the message, and the call of the member that did not expect it.
    CallRecord culprit{};
    CallRecord other{};
    // Bytes of the message, and bytes expected; if equal, the message was wrong in another way.
    std::uint64_t found = 0;
    std::uint64_t expected = 0;

    std::string text() const;
};

class Ledger final : private core::NoteReader, private core::Reporter {
  public:
    // `kind` is the low bits of the tags of the group's collectives, see Tags.
    Ledger(const Group& group, core::Tag kind);
    ~Ledger();
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;

    // The member begins a collective, identified by its tag, with enter(), and ends it with
    // leave().
    void enter(core::Tag tag, std::string_view name, const Call& call) {
        if (!Tags::is_fixed(tag)) last_ = tag;
        Entry& entry = entry_of(tag);
        entry.tag = tag;
        entry.done = entry.ended = false;
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
    // The collective cannot complete here, and so must not complete on the others.
    void accuse(core::Tag tag, const Verdict& verdict);
    // The verdict of another member that ends the collective here; returned once.
    std::optional<Verdict> take_verdict(core::Tag tag);
    // The members that keep others waiting in it, as far as known; empty if none.
    std::string describe(core::Tag tag) const;

  private:
    enum class Kind : std::uint32_t { statement, question, verdict, overview };
    // The state that a member reports for a collective.
    enum class State : std::uint32_t {
        silent,   // no report
        called,   // the record is its call
        not_yet,  // not called yet; the record's name is the call in which it waits, if any
        past,     // completed; its arguments are not remembered
    };
    struct Note {
        Kind kind = Kind::statement;
        State state = State::silent;
        std::int32_t round = -1;  // round of waiting; -1 for an answer
        std::uint32_t others = 0;
        Verdict verdict{};  // in statements, `culprit` is the call of the reporting member
    };
    struct Entry {
        core::Tag tag = -1;
        bool done = false;
        bool ended = false;  // by the verdict at its place in ended_
        std::string_view name;
        Call call;
    };
    // The reports that the clerk has received for one collective.
    struct Case {
        std::vector<State> heard;           // by member
        std::map<int, CallRecord> missing;  // members that have not called it
        std::optional<CallRecord> first;    // the first call that was reported
        std::optional<CallRecord> odd;      // a different call whose messages would still fit
        int asked = -1;                     // the last round in which the clerk asked the others
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
    void answer(core::Tag tag);  // the clerk asked before the call began
    void forget_case(core::Tag tag);
    Entry& entry_of(core::Tag tag) { return entries_[place_of(tag)]; }
    const Entry* find(core::Tag tag) const;
    const Verdict* verdict_on(core::Tag tag) const;
    void remember(core::Tag tag, const Verdict& verdict);
    void send_verdict(int member, core::Tag tag, const Verdict& verdict);
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

    core::Runtime* runtime_;  // null if it has ended
    const Group& group_;
    const core::Tag kind_;
    core::Tag last_ = 0;    // the last counted collective that began
    core::Tag asked_ = -1;  // asked for by the clerk, and not yet begun
    std::array<Entry, remembered> entries_{};
    std::map<core::Tag, Verdict> verdicts_;    // of collectives that run or have not begun
    std::map<std::size_t, Verdict> ended_;     // by place in entries_
    std::map<core::Tag, Overview> overviews_;  // reports from the clerk
    std::map<core::Tag, Case> cases_;          // at the clerk
};

}  // namespace torusmp::collectives

// What a member of a group knows of the calls of others, and they of its calls: so that a
// collective on which the members disagree ends on all of them, and nobody waits for ever.
//
// A member that gets what does not fit its own call tells all others at once. Where the
// disagreement shows in no message, since it takes members to other algorithms, members that have
// waited long tell the clerk, the member at place 0, what they called. The clerk asks those from
// whom it has not heard, compares, and tells all when two calls differ. What is slow alone goes on:
// who has not called yet, or does not answer since it computes, is named in reports and nothing
// else. All of it goes in notes, a few for each member and long wait.
//
// The last calls are kept, since a member may have ended well what others never can. One for each
// group with collectives of its own. Used under the Runtime's lock.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/group/call.h"
#include "core/api.h"

namespace torusmp::collectives {

class Group;

// Why a collective has ended on all members.
struct Verdict {
    core::Error error = core::Error::mismatch;
    std::uint8_t by_message = 0;  // else by the calls
    std::uint16_t unused = 0;
    std::uint32_t unused_too = 0;
    // Whose message, or call, and who did not expect it.
    CallRecord culprit{};
    CallRecord other{};
    // Bytes of the message, and expected of it; the same: something else was wrong with it.
    std::uint64_t found = 0;
    std::uint64_t expected = 0;

    std::string text() const;
};

class Ledger final : private core::NoteReader {
  public:
    // kind: in the low bits of the tags of the group's collectives, see Tags.
    Ledger(const Group& group, core::Tag kind);
    ~Ledger();
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;

    // The member begins a collective, by its tag, and ends it.
    void enter(core::Tag tag, std::string_view name, const Call& call);
    void leave(core::Tag tag);
    // It has waited long in it, for the round-th time, from 0.
    void inquire(core::Tag tag, int round);
    // It cannot end here, and so not on the others.
    void accuse(core::Tag tag, const Verdict& verdict);
    // What ends it here, said by another; it is told once.
    std::optional<Verdict> take_verdict(core::Tag tag);
    // Who keeps members waiting in it, as far as is known; empty: nobody.
    std::string describe(core::Tag tag) const;

  private:
    enum class Kind : std::uint32_t { statement, question, verdict, overview };
    // What a member says of a collective.
    enum class State : std::uint32_t {
        silent,   // nothing
        called,   // the record is its call
        not_yet,  // it has not called it; the record's name is the call in which it waits, if any
        past,     // it has ended it, and does not remember how it called it
    };
    struct Note {
        Kind kind = Kind::statement;
        State state = State::silent;
        std::int32_t round = -1;  // of waiting; -1: an answer
        std::uint32_t others = 0;
        Verdict verdict{};  // the culprit is who speaks in statements
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
        std::optional<CallRecord> first;    // a call
        std::optional<CallRecord> odd;      // one unlike it whose messages would fit all the same
        int asked = -1;                     // the last round in which it asked
    };
    struct Overview {
        State state = State::silent;
        CallRecord missing{};
        std::uint32_t others = 0;
    };

    bool on_note(core::Rank source, core::Tag tag, transport::ConstBytes bytes) override;
    void on_end() override { runtime_ = nullptr; }

    static std::size_t place_of(core::Tag tag);
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

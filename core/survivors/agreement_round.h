// SPDX-License-Identifier: BSD-3-Clause
// One agreement among the members of a group as one of them sees it: a state machine without I/O.
//
// A ballot has a leader and a set of members that it counts as dead; the others form a tree below
// the leader. Four waves run over the tree: votes rise, the leader proposes a value, the members
// confirm that they have it, and the leader announces that it is decided. If a member of the tree
// dies, the lowest living member starts a higher ballot, and asks for votes from the top.
//
// Votes carry the proposal of the highest ballot that a voter has confirmed. The leader proposes
// this value if there is one. So a value that anyone has decided is the only one that later ballots
// can decide: all members of the deciding ballot had confirmed it before they voted in a later one,
// and members that were not in the ballot were dead. architecture.md has the argument.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/survivors/ballot.h"

namespace torusmp::core {

// The waves of a ballot, as packets between members.
// Two belong to no ballot but to Agreements: `board`, since a member has made one, and `parted`,
// since two members that live cannot reach each other.
enum class Wave : std::uint32_t {
    call,
    vote,
    proposal,
    consent,
    decision,
    board,
    parted,
    last = parted
};

struct AgreementPacket {
    Wave wave = Wave::call;
    Ballot ballot;
    MemberSet dead;      // members that the ballot counts as dead
    Ballot consented;    // the ballot of the proposal in `value`, in votes
    bool bound = false;  // `value` is a proposal that was confirmed, in votes
    AgreedValue value;
};

class AgreementRound {
  public:
    using Send = std::function<void(int place, const AgreementPacket& packet)>;

    // `place` is this member's own. `dead` contains the members that all have agreed on as dead
    // before this round. `width` is the width of the tree, the same for all members.
    AgreementRound(int place, const MemberSet& dead, int width = BallotTree::default_width);

    // This member takes part, with its contribution.
    void take_part(const AgreedValue& own, const MemberSet& known_dead, const Send& send);
    bool takes_part() const { return own_.has_value(); }
    // Members have died. `known_dead` contains all that are known.
    void lose(const MemberSet& known_dead, const Send& send);
    // Returns false if such a packet is impossible.
    bool take(int from, const AgreementPacket& packet, const Send& send);
    const std::optional<AgreedValue>& decided() const { return decided_; }

  private:
    void enter(const Ballot& ballot, const MemberSet& dead);
    void lead(const MemberSet& known_dead, const Send& send);
    void ask(const Send& send);
    void vote(const Send& send);
    void propose(const AgreementPacket& packet, const Send& send);
    void consent(const Send& send);
    void decide(const AgreedValue& value, const Send& send);
    void to_children(const AgreementPacket& packet, const Send& send) const;
    AgreementPacket packet_of(Wave wave) const;
    void merge(const AgreementPacket& vote);
    bool all(std::uint64_t bits) const {
        return bits + 1 == std::uint64_t{1} << tree_.children().size();
    }

    const int place_, width_;
    std::optional<AgreedValue> own_;

    Ballot ballot_;
    MemberSet dead_;
    BallotTree tree_;
    AgreementPacket votes_;        // those of the subtree, merged
    std::uint64_t voted_ = 0;      // children whose votes have arrived
    std::uint64_t consented_ = 0;  // children that have confirmed
    bool has_voted_ = false;
    bool has_proposal_ = false;  // of this ballot
    bool has_consented_ = false;

    std::optional<Ballot> bound_to_;  // the highest ballot whose proposal was confirmed
    AgreedValue proposal_;            // that proposal
    std::optional<AgreedValue> decided_;
};

}  // namespace torusmp::core

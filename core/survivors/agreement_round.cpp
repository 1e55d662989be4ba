// SPDX-License-Identifier: BSD-3-Clause
#include "core/survivors/agreement_round.h"

#include <utility>

namespace torusmp::core {

AgreementRound::AgreementRound(int place, const MemberSet& dead, int width)
    : place_(place), width_(width) {
    enter({std::uint32_t(dead.first_missing()), 0}, dead);
}

void AgreementRound::enter(const Ballot& ballot, const MemberSet& dead) {
    ballot_ = ballot;
    dead_ = dead;
    tree_ = BallotTree(dead, place_, width_);
    TORUSMP_ASSERT(tree_.children().size() < 64, place_, tree_.children().size());
    voted_ = consented_ = 0;
    has_voted_ = has_proposal_ = has_consented_ = false;
    votes_ = packet_of(Wave::vote);
    votes_.value = {.failed = MemberSet(dead.members()),
                    .acknowledged = MemberSet(dead.members(), true)};
}

AgreementPacket AgreementRound::packet_of(Wave wave) const {
    AgreementPacket packet;
    packet.wave = wave;
    packet.ballot = ballot_;
    packet.dead = dead_;
    packet.value = proposal_;
    return packet;
}

void AgreementRound::to_children(const AgreementPacket& packet, const Send& send) const {
    for (const int child : tree_.children()) send(child, packet);
}

void AgreementRound::take_part(const AgreedValue& own, const MemberSet& known_dead,
                               const Send& send) {
    TORUSMP_ASSERT(!own_, place_);
    own_ = own;
    lead(known_dead, send);
    vote(send);
}

void AgreementRound::lose(const MemberSet& known_dead, const Send& send) {
    if (!own_) return;  // this is done when it takes part
    lead(known_dead, send);
}

// Starts a ballot if all lower members are dead and the present ballot does not suit.
void AgreementRound::lead(const MemberSet& known_dead, const Send& send) {
    if (known_dead.first_missing() != place_) return;
    const bool leads = ballot_.leader == std::uint32_t(place_);
    if (leads && known_dead.within(dead_)) return;
    MemberSet dead = known_dead;
    dead.unite(dead_);
    if (dead.has(place_)) return;
    enter({std::uint32_t(place_), leads ? ballot_.attempt + 1 : 1}, dead);
    ask(send);
    vote(send);
}

void AgreementRound::ask(const Send& send) {
    to_children(packet_of(Wave::call), send);
}

bool AgreementRound::take(int from, const AgreementPacket& packet, const Send& send) {
    if (packet.ballot < ballot_) return true;  // its leader is dead, or has started another one
    if (packet.dead.has(place_) || packet.dead.has(from)) return false;
    if (packet.ballot > ballot_) {
        if (packet.dead.first_missing() != int(packet.ballot.leader)) return false;
        enter(packet.ballot, packet.dead);
    }
    const bool down = packet.wave != Wave::vote && packet.wave != Wave::consent;
    const int child = tree_.child_index(from);
    if (packet.dead != dead_ || (down ? from != tree_.parent() : child < 0)) return false;
    switch (packet.wave) {
        case Wave::call:
            ask(send);
            vote(send);
            break;
        case Wave::vote:
            if ((voted_ >> child & 1) != 0) break;
            voted_ |= std::uint64_t{1} << child;
            merge(packet);
            vote(send);
            break;
        case Wave::proposal:
            propose(packet, send);
            break;
        case Wave::consent:
            consented_ |= std::uint64_t{1} << child;
            consent(send);
            break;
        case Wave::decision:
            decide(packet.value, send);
            break;
        case Wave::board:
        case Wave::parted:
            return false;
    }
    return true;
}

// Adds a vote to those of the subtree: the proposal of the highest ballot, or what all say.
void AgreementRound::merge(const AgreementPacket& vote) {
    if (vote.bound) {
        if (votes_.bound && votes_.consented > vote.consented) return;
        votes_.bound = true;
        votes_.consented = vote.consented;
        votes_.value = vote.value;
    } else if (!votes_.bound) {
        votes_.value.add(vote.value);
    }
}

// Votes once this member takes part and its children have voted; the leader then proposes.
void AgreementRound::vote(const Send& send) {
    if (!own_ || has_voted_ || !all(voted_)) return;
    has_voted_ = true;
    AgreementPacket own = packet_of(Wave::vote);
    own.bound = bound_to_.has_value();
    if (own.bound)
        own.consented = *bound_to_;
    else
        own.value = *own_;
    merge(own);
    if (tree_.parent() >= 0) return send(tree_.parent(), votes_);
    AgreementPacket proposal = packet_of(Wave::proposal);
    proposal.value = votes_.value;
    if (!votes_.bound) proposal.value.failed.unite(dead_);
    propose(proposal, send);
}

void AgreementRound::propose(const AgreementPacket& packet, const Send& send) {
    if (has_proposal_) return;
    has_proposal_ = true;
    proposal_ = packet.value;
    bound_to_ = ballot_;
    to_children(packet, send);
    consent(send);
}

void AgreementRound::consent(const Send& send) {
    if (!has_proposal_ || has_consented_ || !all(consented_)) return;
    has_consented_ = true;
    if (tree_.parent() < 0)
        decide(proposal_, send);
    else
        send(tree_.parent(), packet_of(Wave::consent));
}

void AgreementRound::decide(const AgreedValue& value, const Send& send) {
    AgreementPacket packet = packet_of(Wave::decision);
    packet.value = value;
    to_children(packet, send);
    TORUSMP_ASSERT(!decided_ || *decided_ == value, place_, decided_->flags, value.flags);
    if (!decided_) decided_ = value;
}

}  // namespace torusmp::core

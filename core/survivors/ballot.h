// SPDX-License-Identifier: BSD-3-Clause
// The parts of an agreement that need no Runtime: sets of members, ballots, votes and their
// encoding, and the tree over the members that a ballot counts as living.
#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <vector>

#include "base/assert.h"

namespace torusmp::core {

// A set of members by their place, as words that packets carry.
class MemberSet {
  public:
    MemberSet() = default;
    explicit MemberSet(int members, bool all = false)
        : members_(members), words_(words_for(members), all ? ~std::uint32_t{0} : 0) {
        if (all && members % 32 != 0) words_.back() = (std::uint32_t{1} << (members % 32)) - 1;
    }
    static std::size_t words_for(int members) { return (std::size_t(members) + 31) / 32; }

    bool has(int place) const {
        return (words_[std::size_t(place) / 32] >> (unsigned(place) % 32) & 1) != 0;
    }
    void add(int place) {
        words_[std::size_t(place) / 32] |= std::uint32_t{1} << (unsigned(place) % 32);
    }
    int count() const {
        int sum = 0;
        for (const std::uint32_t word : words_) sum += std::popcount(word);
        return sum;
    }
    // The lowest place that is not in the set; the number of members if all are.
    int first_missing() const {
        int place = 0;
        while (place < members_ && has(place)) ++place;
        return place;
    }
    bool within(const MemberSet& other) const {
        for (std::size_t i = 0; i < words_.size(); ++i)
            if ((words_[i] & ~other.words_[i]) != 0) return false;
        return true;
    }
    void unite(const MemberSet& other) {
        for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    }
    void intersect(const MemberSet& other) {
        for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    }
    int members() const { return members_; }
    std::vector<std::uint32_t>& words() { return words_; }
    const std::vector<std::uint32_t>& words() const { return words_; }

    friend bool operator==(const MemberSet&, const MemberSet&) = default;

  private:
    int members_ = 0;
    std::vector<std::uint32_t> words_;
};

// Ballots are ordered. Only a member whose lower members are all dead starts one.
struct Ballot {
    std::uint32_t leader = 0;   // its place
    std::uint32_t attempt = 0;  // 0 for the first ballot, which all members start by themselves
    friend auto operator<=>(const Ballot&, const Ballot&) = default;
};

// The contribution of a member, and the decision.
struct AgreedValue {
    static constexpr std::uint32_t any_board = ~std::uint32_t{0};  // says nothing
    static constexpr std::uint32_t no_board = any_board - 1;

    std::uint32_t flags = ~std::uint32_t{0};  // bits that all have set
    std::uint32_t least = ~std::uint32_t{0};  // the least of the numbers given
    MemberSet failed;                         // known by any of them to be dead
    MemberSet acknowledged;                   // acknowledged by all of them
    // The place of the member that made the board (agreement_board.h) which all of them have.
    std::uint32_t board = any_board;

    // Adds the contributions of others.
    void add(const AgreedValue& other) {
        flags &= other.flags;
        least = std::min(least, other.least);
        failed.unite(other.failed);
        acknowledged.intersect(other.acknowledged);
        if (board == any_board)
            board = other.board;
        else if (board != other.board && other.board != any_board)
            board = no_board;
    }

    friend bool operator==(const AgreedValue&, const AgreedValue&) = default;
};

// A tree over the members that are not in `dead`, in their order, in which each member has up to
// `width` children. It is wide: each level costs a wake of members that sleep, which is far more
// than the packets of a parent.
class BallotTree {
  public:
    static constexpr int default_width = 32;

    BallotTree() = default;
    // Precondition: `place` is not in `dead`.
    BallotTree(const MemberSet& dead, int place, int width = default_width) {
        std::vector<int> living;
        std::size_t own = 0;
        for (int member = 0; member < dead.members(); ++member) {
            if (dead.has(member)) continue;
            if (member == place) own = living.size();
            living.push_back(member);
        }
        TORUSMP_ASSERT(own < living.size() && living[own] == place, place, living.size());
        const std::size_t most = std::size_t(width), first = own * most + 1;
        if (own != 0) parent_ = living[(own - 1) / most];
        for (std::size_t i = first; i < std::min(first + most, living.size()); ++i)
            children_.push_back(living[i]);
    }
    int parent() const { return parent_; }  // -1 at the root
    const std::vector<int>& children() const { return children_; }
    int child_index(int place) const {
        const auto found = std::find(children_.begin(), children_.end(), place);
        return found == children_.end() ? -1 : int(found - children_.begin());
    }

  private:
    int parent_ = -1;
    std::vector<int> children_;
};

}  // namespace torusmp::core

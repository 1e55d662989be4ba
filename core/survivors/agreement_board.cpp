// SPDX-License-Identifier: BSD-3-Clause
#include "core/survivors/agreement_board.h"

#include <cstring>

namespace torusmp::core {
namespace {

constexpr std::size_t line = 128;  // no two members write in the same

constexpr std::size_t in_lines(std::size_t bytes) {
    return (bytes + line - 1) / line * line;
}

}  // namespace

// The authors of the last decisions, by the parity of the round: the round and the author's place.
struct AgreementBoard::Head {
    std::atomic<std::uint64_t> authors[2];
};

struct AgreementBoard::Entry {
    std::atomic<std::uint32_t> round;   // of a contribution, once it is complete
    std::atomic<std::uint32_t> asleep;  // in the first contribution of a member: it sleeps
    std::uint32_t flags;
    std::uint32_t least;
};

std::size_t AgreementBoard::entry_bytes(int members) {
    return in_lines(sizeof(Entry) + 2 * MemberSet::words_for(members) * sizeof(std::uint32_t));
}

std::size_t AgreementBoard::bytes(int members) {
    return in_lines(sizeof(Head)) + std::size_t(members) * 4 * entry_bytes(members);
}

void AgreementBoard::prepare(std::byte* memory, int members) {
    std::memset(memory, 0, bytes(members));
}

AgreementBoard::AgreementBoard(std::byte* memory, int members, int place, bool fences)
    : memory_(memory), members_(members), place_(place), fences_(fences) {}

AgreementBoard::Entry& AgreementBoard::entry(int place, std::uint32_t round, bool draft) const {
    const std::size_t index = std::size_t(place) * 4 + (round & 1) * 2 + (draft ? 1 : 0);
    return *reinterpret_cast<Entry*>(memory_ + in_lines(sizeof(Head)) +
                                     index * entry_bytes(members_));
}

std::atomic<std::uint64_t>& AgreementBoard::author(std::uint32_t round) const {
    return reinterpret_cast<Head*>(memory_)->authors[round & 1];
}

std::uint32_t* AgreementBoard::words_of(Entry& entry) const {
    return reinterpret_cast<std::uint32_t*>(&entry + 1);
}

void AgreementBoard::write(Entry& entry, const AgreedValue& value) const {
    entry.flags = value.flags;
    entry.least = value.least;
    const std::size_t words = MemberSet::words_for(members_);
    TORUSMP_ASSERT(
        value.failed.words().size() == words && value.acknowledged.words().size() == words, place_,
        members_, value.failed.members());
    std::memcpy(words_of(entry), value.failed.words().data(), words * sizeof(std::uint32_t));
    std::memcpy(words_of(entry) + words, value.acknowledged.words().data(),
                words * sizeof(std::uint32_t));
}

AgreedValue AgreementBoard::read(const Entry& entry) const {
    AgreedValue value{entry.flags, entry.least, MemberSet(members_), MemberSet(members_)};
    const std::size_t words = MemberSet::words_for(members_);
    const std::uint32_t* const from = words_of(const_cast<Entry&>(entry));
    std::memcpy(value.failed.words().data(), from, words * sizeof(std::uint32_t));
    std::memcpy(value.acknowledged.words().data(), from + words, words * sizeof(std::uint32_t));
    return value;
}

bool AgreementBoard::is_decided(std::uint32_t round) const {
    return author(round).load(std::memory_order_acquire) >> 32 == round;
}

void AgreementBoard::contribute(std::uint32_t round, const AgreedValue& own) {
    Entry& mine = entry(place_, round, false);
    TORUSMP_ASSERT(mine.round.load(std::memory_order_relaxed) < round, place_, round);
    write(mine, own);
    mine.round.store(round, std::memory_order_release);
    missing_ = 0;
    fence();  // before this member looks whether it is the last
}

bool AgreementBoard::decide(std::uint32_t round, const MemberSet& dead, bool& first) {
    first = false;
    std::uint64_t before = author(round).load(std::memory_order_acquire);
    if (before >> 32 == round) return true;
    const auto contributed = [&](int place) {
        return entry(place, round, false).round.load(std::memory_order_acquire) == round;
    };
    for (; missing_ < members_; ++missing_)
        if (!contributed(missing_) && !dead.has(missing_)) return false;
    AgreedValue sum{.failed = dead, .acknowledged = MemberSet(members_, true)};
    for (int place = 0; place < members_; ++place)
        if (contributed(place)) sum.add(read(entry(place, round, false)));
    write(entry(place_, round, true), sum);
    first = author(round).compare_exchange_strong(
        before, std::uint64_t(round) << 32 | std::uint32_t(place_), std::memory_order_acq_rel,
        std::memory_order_acquire);
    TORUSMP_ASSERT(is_decided(round), place_, round, before);
    return true;
}

AgreedValue AgreementBoard::decision(std::uint32_t round) const {
    TORUSMP_ASSERT(is_decided(round), place_, round);
    const auto place = std::uint32_t(author(round).load(std::memory_order_acquire));
    return read(entry(int(place), round, true));
}

void AgreementBoard::set_asleep(bool asleep) {
    entry(place_, 0, false).asleep.store(asleep ? 1 : 0, std::memory_order_seq_cst);
}

bool AgreementBoard::sleeps(int place) const {
    return entry(place, 0, false).asleep.load(std::memory_order_relaxed) != 0;
}

}  // namespace torusmp::core

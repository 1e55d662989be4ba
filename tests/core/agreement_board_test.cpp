// SPDX-License-Identifier: BSD-3-Clause
// The board of an agreement without a Runtime: members that take turns at random, die between their
// steps, and learn of deaths at different times; and members in threads.
#include "core/survivors/agreement_board.h"

#include <catch2/catch.hpp>
#include <map>
#include <new>
#include <random>
#include <thread>
#include <vector>

using namespace torusmp::core;

namespace agreement_board_test {

class Memory {
  public:
    explicit Memory(int members)
        : bytes_(static_cast<std::byte*>(
              ::operator new(AgreementBoard::bytes(members), std::align_val_t(128)))) {
        AgreementBoard::prepare(bytes_, members);
    }
    ~Memory() { ::operator delete(bytes_, std::align_val_t(128)); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    std::byte* get() const { return bytes_; }

  private:
    std::byte* bytes_;
};

struct Member {
    AgreementBoard board;
    MemberSet dead;
    std::uint32_t decided = 0;
    bool contributed = false;
    bool alive = true;
};

TEST_CASE("all decisions on a board are equal, whoever dies when", "[core][board]") {
    const std::uint64_t seed = GENERATE(range(1, 300));
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    constexpr std::uint32_t rounds = 6;
    const int size = 1 + int(below(seed % 10 == 0 ? 70 : 9));
    const Memory memory(size);
    std::vector<Member> members;
    for (int place = 0; place < size; ++place)
        members.push_back({AgreementBoard(memory.get(), size, place, true), MemberSet(size)});
    int kills = int(below(std::uint64_t(size)));
    const std::uint64_t seldom = 1 + below(40);
    std::map<std::uint32_t, std::map<int, std::uint32_t>> flags;  // by round and place
    std::map<std::uint32_t, AgreedValue> decisions;
    std::map<std::uint32_t, int> authors;
    const auto over = [&] {
        for (const Member& member : members)
            if (member.alive && member.decided < rounds) return false;
        return true;
    };
    while (!over()) {
        const int place = int(below(std::uint64_t(size)));
        Member& member = members[std::size_t(place)];
        if (!member.alive) continue;
        const int other = int(below(std::uint64_t(size)));
        if (below(4) == 0 && !members[std::size_t(other)].alive) member.dead.add(other);
        if (kills > 0 && below(seldom) == 0) {
            member.alive = false;
            --kills;
            continue;
        }
        if (member.decided == rounds) continue;
        const std::uint32_t round = member.decided + 1;
        if (!member.contributed) {
            const auto own = std::uint32_t(random()) | 0xffff;
            flags[round][place] = own;
            member.board.contribute(round,
                                    {own, std::uint32_t(place), member.dead, MemberSet(size)});
            member.contributed = true;
            continue;
        }
        bool first = false;
        if (!member.board.decide(round, member.dead, first)) continue;
        authors[round] += first ? 1 : 0;
        const AgreedValue value = member.board.decision(round);
        REQUIRE(decisions.try_emplace(round, value).first->second == value);
        ++member.decided;
        member.contributed = false;
    }
    for (std::uint32_t round = 1; round <= rounds; ++round) {
        if (decisions.count(round) == 0) continue;  // its author died before it looked
        const AgreedValue& value = decisions[round];
        std::uint32_t by_all = ~0u, by_living = ~0u;
        for (const auto& [place, own] : flags[round]) {
            by_all &= own;
            if (members[std::size_t(place)].alive) by_living &= own;
            if (members[std::size_t(place)].alive) REQUIRE_FALSE(value.failed.has(place));
        }
        REQUIRE((value.flags & ~by_living) == 0);
        REQUIRE((by_all & ~value.flags) == 0);
        REQUIRE(authors[round] == 1);
    }
}

TEST_CASE("members of a board in threads decide the same", "[core][board]") {
    constexpr int size = 5;
    constexpr std::uint32_t rounds = 400;
    const Memory memory(size);
    std::vector<std::vector<std::uint32_t>> seen(size);
    std::vector<std::thread> threads;
    for (int place = 0; place < size; ++place)
        threads.emplace_back([&, place] {
            AgreementBoard board(memory.get(), size, place, true);
            const MemberSet dead(size);
            std::mt19937 random{unsigned(place)};
            for (std::uint32_t round = 1; round <= rounds; ++round) {
                board.contribute(round, {std::uint32_t(random()), round, dead, MemberSet(size)});
                bool first = false;
                while (!board.decide(round, dead, first)) std::this_thread::yield();
                seen[std::size_t(place)].push_back(board.decision(round).flags);
            }
        });
    for (std::thread& thread : threads) thread.join();
    std::vector<std::mt19937> random;
    for (int place = 0; place < size; ++place) random.emplace_back(unsigned(place));
    for (std::uint32_t round = 0; round < rounds; ++round) {
        std::uint32_t all = ~0u;
        for (std::mt19937& one : random) all &= std::uint32_t(one());
        for (const auto& values : seen) REQUIRE(values[round] == all);
    }
}

TEST_CASE("a decision wakes the members that sleep", "[core][board]") {
    const Memory memory(3);
    std::vector<AgreementBoard> boards;
    for (int place = 0; place < 3; ++place) boards.emplace_back(memory.get(), 3, place, true);
    const auto sleepers = [&] {
        std::vector<int> found;
        boards[0].for_sleepers([&](int place) { found.push_back(place); });
        return found;
    };
    CHECK(sleepers().empty());
    boards[1].set_asleep(true);
    boards[2].set_asleep(true);
    CHECK(sleepers() == std::vector<int>{1, 2});
    boards[1].contribute(2, {1, 1, MemberSet(3), MemberSet(3)});
    CHECK(sleepers() == std::vector<int>{1, 2});
    boards[1].set_asleep(false);
    CHECK(sleepers() == std::vector<int>{2});
}

}  // namespace agreement_board_test

// SPDX-License-Identifier: BSD-3-Clause
// Agreements without a Runtime: rounds of members that exchange packets with random delays, die in
// the middle of a step, and learn of deaths at different times. All decisions must be equal, also
// those of members that die later, and every survivor decides.
//
//   rounds_soak SEED ROUNDS
#include <fmt/format.h>

#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/survivors/agreement_round.h"

namespace rounds_soak {
namespace {

using namespace torusmp::core;

class World {
  public:
    explicit World(std::uint64_t seed) : random_(seed), seed_(seed) {
        const int members = 1 + int(below(seed % 10 == 0 ? 40 : 12));
        const int widths[] = {1, 2, 3, BallotTree::default_width};
        const int width = widths[below(4)];
        // Some were agreed to be dead before, and all members know that.
        MemberSet agreed(members);
        for (int place = 0; place < members; ++place) {
            members_.emplace_back();
            if (place > 0 && below(8) == 0) agreed.add(place);
        }
        for (int place = 0; place < members; ++place) {
            Member& member = members_[std::size_t(place)];
            member.alive = !agreed.has(place);
            member.dead = agreed;
            if (member.alive) member.round.emplace(place, agreed, width);
            member.flags = std::uint32_t(random_()) | 0xff;
        }
        kills_left_ = int(below(std::uint64_t(members) / 3 + 1));
        patience_ = 1 + below(60);
    }

    void run() {
        int idle = 0;
        while (!over()) {
            if (++turns_ > 20'000'000) fail("no end");
            const auto what = below(10);
            const bool moved = what < 6   ? deliver()
                               : what < 8 ? join()
                               : what < 9 ? hear()
                                          : kill();
            idle = moved ? 0 : idle + 1;
            if (idle > 500'000) fail("nothing moves");
        }
        judge();
    }

  private:
    struct Member {
        bool alive = true;
        bool joined = false;
        std::uint32_t flags = 0;
        MemberSet dead;
        std::optional<AgreementRound> round;
        std::optional<AgreedValue> decided;
    };
    using Lane = std::pair<int, int>;  // from, to

    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    [[noreturn]] void fail(const char* what) const {
        throw std::runtime_error(fmt::format("seed {}: {}", seed_, what));
    }
    AgreementRound::Send sender(int from) {
        return [this, from](int to, const AgreementPacket& packet) {
            // A member may die between two packets of one step.
            if (!members_[std::size_t(from)].alive) return;
            if (kills_left_ > 0 && below(patience_) == 0) return die(from);
            lanes_[{from, to}].push_back(packet);
        };
    }
    void die(int place) {
        --kills_left_;
        members_[std::size_t(place)].alive = false;
    }
    void note(int place) {
        Member& member = members_[std::size_t(place)];
        if (member.decided || !member.alive || !member.round->decided()) return;
        member.decided = member.round->decided();
    }
    bool deliver() {
        if (lanes_.empty()) return false;
        auto lane = std::next(lanes_.begin(), long(below(lanes_.size())));
        const auto [from, to] = lane->first;
        const AgreementPacket packet = lane->second.front();
        lane->second.pop_front();
        if (lane->second.empty()) lanes_.erase(lane);
        Member& member = members_[std::size_t(to)];
        // Packets of members that are known to be dead are dropped.
        if (!member.alive || member.dead.has(from)) return true;
        if (!member.round->take(from, packet, sender(to))) fail("an impossible packet");
        note(to);
        return true;
    }
    bool join() {
        const int place = int(below(members_.size()));
        Member& member = members_[std::size_t(place)];
        if (!member.alive || member.joined) return false;
        member.joined = true;
        AgreedValue own{member.flags, std::uint32_t(place), member.dead,
                        MemberSet(int(members_.size()))};
        member.round->take_part(own, member.dead, sender(place));
        note(place);
        return true;
    }
    bool hear() {
        const int place = int(below(members_.size()));
        const int other = int(below(members_.size()));
        Member& member = members_[std::size_t(place)];
        if (!member.alive || members_[std::size_t(other)].alive || member.dead.has(other))
            return false;
        member.dead.add(other);
        member.round->lose(member.dead, sender(place));
        note(place);
        return true;
    }
    bool kill() {
        if (kills_left_ == 0) return false;
        const int place = int(below(members_.size()));
        if (!members_[std::size_t(place)].alive) return false;
        die(place);
        return true;
    }
    bool over() const {
        for (const Member& member : members_)
            if (member.alive && !member.decided) return false;
        return true;
    }
    void judge() const {
        std::optional<AgreedValue> common;
        std::uint32_t by_living = ~std::uint32_t{0}, by_all = ~std::uint32_t{0};
        for (const Member& member : members_) {
            if (member.joined) by_all &= member.flags;
            if (member.alive) by_living &= member.flags;
            if (!member.decided) continue;
            if (common && *common != *member.decided) fail("two decisions");
            common = member.decided;
        }
        if (!common) return;  // all have died
        if ((common->flags & ~by_living) != 0) fail("a survivor's contribution is missing");
        if ((by_all & ~common->flags) != 0) fail("a bit that all have set is missing");
        for (int place = 0; place < int(members_.size()); ++place)
            if (common->failed.has(place) && members_[std::size_t(place)].alive)
                fail("a living member counts as dead");
    }

    std::mt19937_64 random_;
    std::uint64_t seed_;
    std::vector<Member> members_;
    std::map<Lane, std::deque<AgreementPacket>> lanes_;
    int kills_left_ = 0;
    std::uint64_t patience_ = 1;
    long turns_ = 0;
};

}  // namespace
}  // namespace rounds_soak

int main(int argc, char** argv) {
    if (argc != 3) {
        fmt::print(stderr, "rounds_soak: found {} arguments, expected SEED ROUNDS\n", argc - 1);
        return 2;
    }
    const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
    const std::uint64_t rounds = std::strtoull(argv[2], nullptr, 10);
    try {
        for (std::uint64_t seed = first; seed < first + rounds; ++seed)
            rounds_soak::World(seed).run();
    } catch (const std::exception& error) {
        fmt::print(stderr, "rounds_soak: {}\n", error.what());
        return 1;
    }
    fmt::print("{} rounds from seed {}: all decisions agree\n", rounds, first);
    return 0;
}

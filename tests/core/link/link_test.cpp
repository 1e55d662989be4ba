// SPDX-License-Identifier: BSD-3-Clause
// The memory and counters of link ends, and the knowledge of ranks about links, without a
// transport.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <set>
#include <vector>

#include "core/job.h"
#include "core/link/lanes.h"
#include "core/link/link_states.h"
#include "core/link/retained.h"
#include "core/transport/sim/random.h"

namespace link_test {

using namespace torusmp;
using namespace torusmp::core;
using namespace torusmp::core::testing;
using routing::Link;
using routing::Torus;
using transport::CreditWord;
using transport::PacketHeader;

TEST_CASE("the counters of virtual channels overflow independently", "[core][detour]") {
    sim::Random random(7);
    std::array<unsigned, 8> a{}, b{};
    LaneCounts all_a = 0, all_b = 0;
    for (int n = 0; n < 5000; ++n) {
        const auto k = std::size_t(random.below(8));
        const auto step = unsigned(random.below(121));
        const bool first = random.below(2) == 0;
        (first ? a : b)[k] += step;
        (first ? all_a : all_b) = add_lanes(first ? all_a : all_b, LaneCounts{step} << (8 * k));
        const LaneCounts apart = subtract_lanes(all_a, all_b);
        for (std::size_t i = 0; i < 8; ++i) {
            REQUIRE(transport::credits_in(all_a, int(i)) == (a[i] & 0xff));
            REQUIRE(transport::credits_in(apart, int(i)) == ((a[i] - b[i]) & 0xff));
        }
    }
}

TEST_CASE("for each virtual channel the last packets are kept, as many as its credits",
          "[core][detour]") {
    sim::Random random(11);
    const CreditWord credits =
        3 * transport::credit_of(0) + 2 * transport::credit_of(1) + 120 * transport::credit_of(2);
    const std::array<std::size_t, 3> most{3, 2, 120};
    Retained retained(3, credits, 300);
    std::array<std::deque<std::pair<std::uint32_t, std::size_t>>, 3> sent;
    for (std::uint32_t n = 0; n < 3000; ++n) {
        const auto k = std::size_t(random.below(3));
        const auto bytes =
            std::size_t(random.below(2) == 0 ? random.below(100) : random.below(301));
        PacketHeader header{};
        header.virtual_channel = std::uint8_t(k);
        header.sequence = n;
        header.length = std::uint32_t(bytes);
        std::vector<std::byte> payload(bytes);
        fill(payload.data(), bytes, n);
        if (random.below(2) == 0) {
            retained.keep(header, payload);
        } else {
            std::copy(payload.begin(), payload.end(), retained.room(int(k)));
            const auto packed = retained.keep_packed(header);
            REQUIRE(packed.size() == bytes);
            REQUIRE(filled(packed.data(), bytes, n));
        }
        std::fill(payload.begin(), payload.end(), std::byte{0xee});  // the caller uses it again
        sent[k].emplace_back(n, bytes);
        if (sent[k].size() > most[k]) sent[k].pop_front();
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t back = 1; back <= sent[i].size(); ++back) {
                const auto& packet = retained.back(int(i), unsigned(back));
                const auto& [number, length] = sent[i][sent[i].size() - back];
                REQUIRE(packet.header.sequence == number);
                REQUIRE(packet.header.length == length);
                REQUIRE(filled(packet.payload, length, number));
            }
    }
}

TEST_CASE(
    "ranks that have the same reports have the same state, in whatever order the reports came",
    "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 30));
    sim::Random random(seed);
    const Torus torus(std::vector{3, 3, 2});
    std::vector<std::pair<Link, std::uint32_t>> news;
    for (int n = 0; n < 30; ++n)
        news.emplace_back(Link{routing::Rank(random.below(18)), int(random.below(3))},
                          std::uint32_t(random.below(80)));
    LinkStates here(torus), there(torus);
    std::set<std::uint64_t> digests{0};
    std::uint64_t life = 0;
    for (const auto& [link, version] : news) {
        const std::uint64_t before = here.digest();
        const auto old = LinkStates::life(here.version(link));
        const bool fresh = here.update(link, version);
        const bool changes = fresh && LinkStates::life(version) != old;
        REQUIRE((here.digest() != before) == changes);
        if (changes) {
            REQUIRE(digests.insert(here.digest()).second);  // none comes again
            ++life;
        }
    }
    REQUIRE(life > 0);
    for (std::size_t i = news.size() - 1; i > 0; --i)
        std::swap(news[i], news[std::size_t(random.below(i + 1))]);
    for (const auto& [link, version] : news) there.update(link, version);
    REQUIRE(here.digest() == there.digest());
    REQUIRE(here.versions() == there.versions());
    REQUIRE(here.detours().parts().dead() == there.detours().parts().dead());
    REQUIRE(here.hopes().dead() == there.hopes().dead());
    REQUIRE(here.rest().dead() == there.rest().dead());
}

TEST_CASE("the states of a link follow in order: alive, dead, given up, expected, back",
          "[core][detour]") {
    std::uint32_t version = 0;
    for (int life = 0; life < 3; ++life) {
        REQUIRE_FALSE(LinkStates::is_dead(version));
        std::uint32_t next = LinkStates::died(version);
        REQUIRE(next > version);
        const std::uint32_t death = next;
        for (int tries = 0; tries < 1000; ++tries) {
            version = next;
            REQUIRE(LinkStates::is_dead(version));
            REQUIRE(LinkStates::life(version) == death);
            REQUIRE(LinkStates::died(version) == version);
            next = LinkStates::is_hopeless(version) ? LinkStates::with_hope(version)
                                                    : LinkStates::without_hope(version);
            const std::uint32_t given_up = LinkStates::given_up(version);
            REQUIRE((given_up != version) == LinkStates::is_hopeless(version));
            if (given_up != version) {
                REQUIRE_FALSE(LinkStates::is_given_up(version));
                REQUIRE(LinkStates::is_given_up(given_up));
                REQUIRE(LinkStates::is_hopeless(given_up));
                REQUIRE(LinkStates::given_up(given_up) == given_up);
                REQUIRE(LinkStates::without_hope(given_up) == given_up);
                REQUIRE(LinkStates::life(given_up) == death);
                if (next == version) break;  // this life has no version left for a hope
                REQUIRE(LinkStates::with_hope(given_up) == next);
                REQUIRE(given_up < next);
            }
            REQUIRE(next > version);
        }
        REQUIRE(LinkStates::is_hopeless(version));
        REQUIRE(LinkStates::with_hope(version) == version);
        REQUIRE(LinkStates::with_hope(LinkStates::given_up(version)) ==
                LinkStates::given_up(version));
        REQUIRE(LinkStates::is_hopeless(LinkStates::without_hope(death)));
        REQUIRE(LinkStates::back(version) > version);
        version = LinkStates::back(version);
    }
    REQUIRE(LinkStates::is_hopeless(LinkStates::without_hope(version)));  // core has given it up
}

TEST_CASE("all ranks compute the same path around them", "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 30));
    sim::Random random(seed);
    const Torus torus(std::vector{4, 3, 2});
    LinkStates states(torus);
    for (int n = 0; n < 8; ++n)
        states.update({routing::Rank(random.below(24)), int(random.below(3))}, 1);
    for (const auto& [link, version] : states.versions())
        for (const int sign : {+1, -1}) {
            const routing::Direction direction{link.dimension, sign};
            const routing::Rank source = sign > 0 ? link.rank : routing::far_end(torus, link);
            const routing::Rank target = *torus.neighbour(source, direction);
            if (states.detours().parts().apart(link)) {
                REQUIRE_FALSE(states.crossing(source, source, direction));
                continue;
            }
            // The crossings lead from one end to the other, and ranks off that path have none.
            std::set<routing::Rank> passed{source};
            routing::Rank here = source;
            auto at = states.crossing(here, source, direction);
            REQUIRE(at);
            REQUIRE_FALSE(at->in);
            while (at->out) {
                const auto out = *at->out;
                here = *torus.neighbour(here, out);
                REQUIRE(passed.insert(here).second);
                at = states.crossing(here, source, direction);
                REQUIRE(at);
                REQUIRE(at->in == out.opposite());
            }
            REQUIRE(here == target);
            for (routing::Rank rank = 0; rank < torus.size(); ++rank)
                if (passed.count(rank) == 0)
                    REQUIRE_FALSE(states.crossing(rank, source, direction));
        }
}

}  // namespace link_test

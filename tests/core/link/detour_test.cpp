// SPDX-License-Identifier: BSD-3-Clause
// Links whose cables die and come back: no message is affected until no path is left.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <deque>
#include <string>

#include "core/link/cable_faults.h"
#include "core/link/detour_round.h"
#include "core/link/frames.h"
#include "core/traffic.h"

namespace detour_test {

using namespace torusmp;
using namespace torusmp::core;
using namespace torusmp::core::testing;
using routing::Link;

#ifdef __SANITIZE_ADDRESS__  // a tenth as fast
constexpr std::uint64_t schedules = 5;
#else
constexpr std::uint64_t schedules = 40;  // detour_soak has more
#endif

TEST_CASE("cables that die and come back lose no message", "[core][detour]") {
    const std::uint64_t seed = GENERATE(range<std::uint64_t>(1, schedules + 1));
    const DetourRound round = run_detour_round(seed, 300);
    CAPTURE(seed, round.scene);
    INFO(round.failure);
    REQUIRE(round.failure.empty());
}

// A cable was held down while it was the only way; news and frames that hung on them came in one
// poll; core sent when the first of two writes was confirmed, and the second left once more; an end
// took "the other end needs it now" of a cable that was held down for "there is none". A seed that
// takes seconds is detour_soak_went_wrong_once_long.
TEST_CASE("schedules that failed in the past", "[core][detour]") {
    const std::uint64_t seed = GENERATE(1001553, 1002052, 2000235, 1011265, 4020242);
    const DetourRound round = run_detour_round(seed, 400);
    CAPTURE(seed, round.scene);
    INFO(round.failure);
    REQUIRE(round.failure.empty());
}

TEST_CASE("cables that are missing at the start get detours, and are used when they appear",
          "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 31));
    CAPTURE(seed);
    JobOptions options =
        detour_torus(seed % 2 == 0 ? std::vector{2, 2, 2} : std::vector{3, 3}, seed);
    sim::Random random(seed);
    const routing::Torus shape(options.dims);
    for (int n = 0; n < 6; ++n) {
        options.cut.push_back({Rank(random.below(std::uint64_t(shape.size()))),
                               int(random.below(std::uint64_t(shape.dimensions())))});
        if (!routing::Parts(shape, options.cut).connected()) options.cut.pop_back();
    }
    TrafficOptions traffic_options;
    traffic_options.messages = 300;
    Traffic traffic(options, traffic_options);
    Job& job = traffic.job();
    const bool well = traffic.run();
    INFO(traffic.stuck());
    REQUIRE(well);
    REQUIRE_FALSE(job.on_cables());
    for (const Link& link : options.cut) job.revive_link(link.rank, link.direction());
    job.settle();
    REQUIRE(job.on_cables());
    REQUIRE(job.quiet());
    REQUIRE(job.credits_home());
}

void exchange(Job& job, Rank from, Rank to) {
    SendRequest send;
    ReceiveRequest receive;
    std::byte out{7}, in{};
    job[to].receive(receive, Buffer(&in, 1), from, 0, 1);
    job[from].send(send, Buffer(&out, 1), to, 0, 1);
    REQUIRE(job.run_until([&] { return send.complete() && receive.complete(); }));
    REQUIRE(receive.status().error == Error::none);
}

// Exchanges messages for that long.
void spend(Job& job, sim::Time time, Rank from = 4, Rank to = 0) {
    for (const sim::Time end = job.world().now() + time; job.world().now() < end;)
        exchange(job, from, to);
}

// An end's knowledge of its cable may be as old as one attempt to connect.
TEST_CASE("a cable that has just returned is tried again before ranks are given up",
          "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 9));
    CAPTURE(seed);
    sim::Random random(seed);
    JobOptions options = detour_torus({5}, seed);
    options.hold_down = sim::Time(3'000'000);
    options.world.down_within = sim::Time(20'000);
    const auto attempt = std::uint64_t(options.world.cable_within.count());
    Job job(options);
    job.settle();
    for (int n = 0; n < 8; ++n) {
        REQUIRE(job.cut_link(2, {0, +1}));
        spend(job, sim::Time(random.below(2 * attempt)));
        for (int flaps = int(random.below(3)); flaps > 0; --flaps) {
            job.revive_link(2, {0, +1});
            spend(job, sim::Time(random.below(attempt)));
            REQUIRE(job.cut_link(2, {0, +1}));
            spend(job, sim::Time(random.below(attempt)));
        }
        job.revive_link(2, {0, +1});
        spend(job, sim::Time(random.below(2 * attempt)));
        REQUIRE(job.cut_link(3, {0, +1}));
        exchange(job, 3, 2);
        exchange(job, 2, 3);
        exchange(job, 4, 3);
        job.revive_link(3, {0, +1});
        job.settle();
        REQUIRE(job.on_cables());
    }
    REQUIRE(job.quiet());
    REQUIRE(job.credits_home());
}

// Only one end knows that no detour is left, and the rank that should notify the other end is busy.
TEST_CASE("a cable that is held down is used immediately when one of its ends needs it",
          "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 9));
    CAPTURE(seed);
    JobOptions options = detour_torus({5}, seed);
    options.hold_down = sim::Time(3'000'000);
    options.world.down_within = sim::Time(20'000);
    Job job(options);
    job.settle();
    REQUIRE(job.cut_link(2, {0, +1}));
    job.settle();  // until the ranks give it up
    for (int n = 0; n < 8; ++n) {
        job.revive_link(2, {0, +1});
        REQUIRE(job.cut_link(2, {0, +1}));
        if (n < 7) job.settle();
    }
    spend(job, sim::Time(200'000));
    job.revive_link(2, {0, +1});
    REQUIRE_FALSE(job.on_cables());
    job.stop(1);
    REQUIRE(job.cut_link(3, {0, +1}));
    job.settle();
    exchange(job, 3, 2);
    exchange(job, 2, 3);
}

TEST_CASE("a cable that is back takes at most two hellos from each end", "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 13));
    CAPTURE(seed);
    Job job(detour_torus({3}, seed));
    job.settle();
    REQUIRE(job.cut_link(0, {0, +1}));
    job.settle();
    std::array<int, 3> hellos{};
    job.world().set_interposer(
        [&](std::size_t from, const transport::PacketHeader& header, std::vector<std::byte>&) {
            if (header.kind == std::uint8_t(LinkFrame::hello)) ++hellos.at(from);
        });
    job.revive_link(0, {0, +1});
    job.settle();
    REQUIRE(job.on_cables());
    CHECK(hellos[0] >= 1);
    CHECK(hellos[0] <= 2);
    CHECK(hellos[1] >= 1);
    CHECK(hellos[1] <= 2);
    CHECK(hellos[2] == 0);
}

TEST_CASE("both ends report that a link is dead, its detour, and that its cable is back",
          "[core][detour]") {
    using routing::LinkNews;
    const std::uint64_t seed = GENERATE(range(1, 13));
    CAPTURE(seed);
    std::array<std::vector<LinkNews>, 3> news;
    JobOptions options = detour_torus({3}, seed);
    options.log_link = [&](Rank rank, const LinkNews& it) {
        news.at(std::size_t(rank)).push_back(it);
    };
    Job job(options);
    job.settle();
    REQUIRE(job.cut_link(0, {0, +1}));
    job.settle();
    job.revive_link(0, {0, +1});
    job.settle();
    REQUIRE(job.on_cables());
    CHECK(news[2].empty());
    for (const Rank rank : {0, 1}) {
        CAPTURE(rank);
        const auto& all = news.at(std::size_t(rank));
        REQUIRE(all.size() == 3);
        CHECK(all[0].state == LinkNews::State::dead);
        CHECK(all[1].state == LinkNews::State::detour);
        REQUIRE(all[1].path.size() == 2);
        CHECK(all[1].path[0].rank == 2);
        CHECK(all[1].path[1].rank == 1 - rank);
        CHECK(all[2].state == LinkNews::State::alive);
        for (const LinkNews& it : all) CHECK(it.peer == 1 - rank);
    }
}

TEST_CASE("news about links waits for a rank that computes", "[core][detour]") {
    Job job(detour_torus({3, 3}, 1));
    job.settle();
    job.stop(1);
    for (int n = 0; n < 20; ++n) {
        REQUIRE(job.cut_link(6, {0, +1}));
        job.settle();
        job.revive_link(6, {0, +1});
        job.settle();
    }
    CHECK(job[0].state().link_holdings().news == 1);  // the last version of the link
    job.go_on(1);
    job.settle();
    CHECK(job[0].state().link_holdings().news == 0);
    CHECK(job.on_cables());
}

TEST_CASE("links that are known to be dead at the start have detours until their cables connect",
          "[core][detour]") {
    JobOptions options = detour_torus({3, 3}, 1);
    options.dead_links = {Link{0, 0}};
    SendRequest send;
    ReceiveRequest receive;
    std::byte out{7}, in{};
    Job job(options);
    REQUIRE_FALSE(job.on_cables());
    job[3].receive(receive, Buffer(&in, 1), 0, 0, 1);
    job[0].send(send, Buffer(&out, 1), 3, 0, 1);
    job.settle();
    REQUIRE(receive.complete());
    CHECK(receive.status().error == Error::none);
    CHECK(in == out);
    CHECK(job.on_cables());
}

TEST_CASE("false credits over a returning cable close the link", "[core][detour]") {
    Job job(detour_torus({3}, 5));
    job.settle();
    REQUIRE(job.cut_link(0, {0, +1}));
    job.settle();
    job.revive_link(0, {0, +1});
    const std::string returning = "its cable is back; waiting for the other end";
    REQUIRE(job.run_until(
        [&] { return job[0].state().report().find(returning) != std::string::npos; }));
    job.world().inject_grant(job.interface(0, 0), 0, 100 * transport::credit_of(0));
    job.world().advance(sim::Time(0));
    job.credits_home();  // looks for credits on all links
    job.settle();
    CHECK(job.has_logged("more credits returned than were taken"));
}

// Memory that no cable can write is sent in packets, whether the cable is dead or not: a write that
// was kept for the cable's return would never be complete.
TEST_CASE("memory that the cable cannot write is not written over a detour", "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 9));
    CAPTURE(seed);
    JobOptions options = detour_torus({3}, seed);
    options.world.write = sim::Remote::refused;
    Job job(options);
    job.settle();
    REQUIRE(job.cut_link(0, {0, +1}));
    std::deque<SendRequest> sends;
    std::deque<ReceiveRequest> receives;
    std::vector<std::vector<std::byte>> in(20, std::vector<std::byte>(20'000));
    std::vector<std::byte> out(20'000, std::byte(7));
    for (int n = 0; n < 20; ++n) {
        job[1].receive(receives.emplace_back(), Buffer(in[std::size_t(n)].data(), out.size()), 0, 0,
                       n);
        job[0].send(sends.emplace_back(), Buffer(out.data(), out.size()), 1, 0, n);
        for (int turns = 0; turns < 15; ++turns) job.turn();
    }
    job.revive_link(0, {0, +1});
    job.settle();
    for (const auto& it : sends) REQUIRE(it.complete());
    for (const auto& it : receives) REQUIRE(it.complete());
    for (const auto& it : in) REQUIRE(it == out);
}

// The requests of both ends of the cut end, and name all its links; who is joined goes on.
TEST_CASE("if no path is left, requests end and name the dead links of the cut", "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 13));
    CAPTURE(seed);
    std::deque<SendRequest> sends;
    std::deque<ReceiveRequest> receives;
    std::deque<std::vector<std::byte>> buffers;
    const std::size_t bytes = seed % 2 == 0 ? 100 : 5000;
    Job job(detour_torus({5}, seed));
    for (Rank from = 0; from < 5; ++from)
        for (Rank to = 0; to < 5; ++to) {
            if (from == to) continue;
            buffers.emplace_back(bytes);
            receives.emplace_back();
            job[to].receive(receives.back(), Buffer(buffers.back().data(), bytes), from, 0, 1);
        }
    job.kill_link(0, {0, -1});
    job.kill_link(1, {0, +1});  // ranks 0 and 1 here, 2, 3 and 4 there
    job.settle();
    const auto part = [](Rank rank) { return rank < 2; };
    std::size_t n = 0;
    for (Rank from = 0; from < 5; ++from)
        for (Rank to = 0; to < 5; ++to) {
            if (from == to) continue;
            CAPTURE(from, to);
            ReceiveRequest& receive = receives[n++];
            const bool apart = part(from) != part(to);
            REQUIRE(receive.complete() == apart);
            if (apart) {
                REQUIRE(receive.status().error == Error::unreachable);
                const std::string why = job[to].state().fault_of(from);
                CAPTURE(why);
                REQUIRE(why.find("no detour is left") != std::string::npos);
                REQUIRE(why.find("between rank 1 and rank 2") != std::string::npos);
                REQUIRE(why.find("between rank 4 and rank 0") != std::string::npos);
                continue;
            }
            buffers.emplace_back(bytes);
            sends.emplace_back();
            job[from].send(sends.back(), Buffer(buffers.back().data(), bytes), to, 0, 1);
        }
    job.settle();
    for (const SendRequest& send : sends) {
        REQUIRE(send.complete());
        REQUIRE(send.status().error == Error::none);
    }
    REQUIRE(job.quiet());
}

// One end may give its link up just before the cable returns, and the other one just after. Then
// the first has to say so over the cable, or the other one would hope for ever.
TEST_CASE("in a job that goes on, ranks lose each other together, whenever a cable returns",
          "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 61));
    CAPTURE(seed);
    sim::Random random(seed);
    JobOptions options = detour_torus({5}, seed);
    options.tolerates_deaths = true;
    const auto attempt = std::uint64_t(options.world.cable_within.count());
    Job job(options);
    job.settle();
    const auto lost = [&](Rank rank, Rank other) { return job[rank].survivors().is_lost(other); };
    REQUIRE(job.cut_link(3, {0, +1}));
    spend(job, sim::Time(random.below(2 * attempt)), 1, 2);
    REQUIRE(job.cut_link(4, {0, +1}));  // rank 4 is alone
    spend(job, sim::Time(random.below(2 * attempt)), 1, 2);
    job.revive_link(3, {0, +1});
    job.settle();
    for (Rank rank = 0; rank < 4; ++rank) {
        CAPTURE(rank);
        REQUIRE(lost(rank, 4) == lost(4, rank));
        REQUIRE(lost(rank, 4) == lost(3, 4));
    }
    exchange(job, 1, 2);
    if (!lost(3, 4)) exchange(job, 3, 4);
    REQUIRE(job.quiet());
}

TEST_CASE("a closed link whose ends have exchanged farewells does not look for its cable again",
          "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 13));
    CAPTURE(seed);
    JobOptions options = detour_torus({5}, seed);
    options.tolerates_deaths = true;
    Job job(options);
    job.settle();
    REQUIRE(job.cut_link(3, {0, +1}));
    REQUIRE(job.cut_link(4, {0, +1}));
    job.settle();
    REQUIRE(job[3].survivors().is_lost(4));
    int hellos = 0;
    job.world().set_interposer(
        [&](std::size_t, const transport::PacketHeader& header, std::vector<std::byte>&) {
            if (header.kind == std::uint8_t(LinkFrame::hello)) ++hellos;
        });
    job.revive_link(3, {0, +1});
    job.settle();
    REQUIRE(hellos == 2);  // the farewells
    REQUIRE(job.cut_link(3, {0, +1}));
    job.settle();
    job.revive_link(3, {0, +1});
    job.settle();
    CHECK(hellos == 2);
}

TEST_CASE("the death of a rank is detected although its links could have detours",
          "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 13));
    CAPTURE(seed);
    TrafficOptions traffic_options;
    traffic_options.messages = 400;
    Traffic traffic(detour_torus({3, 2, 2}, seed), traffic_options);
    Job& job = traffic.job();
    traffic.expect_faults();
    sim::Random random(seed);
    const auto when = random.below(200);
    while (traffic.arrived() < when && traffic.step()) {
    }
    const Rank victim = Rank(seed % 12);
    job.kill(victim);
    const bool well = traffic.run();
    INFO(traffic.stuck());
    REQUIRE(well);
    REQUIRE(traffic.unreachable() > 0);
    for (Rank rank = 0; rank < job.size(); ++rank)
        if (rank != victim)
            REQUIRE(job[rank].state().fault_of(victim).find("dead links") != std::string::npos);
}

TEST_CASE("declared channels go on while their cables die and come back", "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 21));
    CAPTURE(seed);
    JobOptions options = detour_torus(seed % 2 == 0 ? std::vector{2, 2} : std::vector{3, 3}, seed);
    options.credits = 3;
    struct Direction {
        SendFlow* out;
        ReceiveFlow* in;
        Rank to;
        std::vector<std::byte> sent;
        std::vector<std::byte> got;
        SendRequest send;
        ReceiveRequest receive;
    };
    std::deque<Direction> channels;
    Job job(options);
    const routing::Torus& shape = job.torus();
    for (Rank rank = 0; rank < job.size(); ++rank)
        for (int i = 0; i < 2 * shape.dimensions(); ++i) {
            auto& it = channels.emplace_back();
            it.to = *shape.neighbour(rank, routing::Direction::from_index(i));
            it.out = &job[rank].flows().open_send(it.to, 0, std::uint32_t(i));
            it.in = &job[it.to].flows().open_receive(rank, 0, std::uint32_t(i));
        }
    CableFaults cables(job, seed);
    sim::Random random(seed);
    std::size_t n = 0;
    for (int round = 0; round < 30; ++round) {
        n = 0;
        for (Direction& it : channels) {
            const auto bytes = std::size_t(random.below(4) == 0 ? 4000 : 8 + random.below(200));
            it.sent.resize(bytes);
            it.got.assign(bytes, std::byte{0});
            fill(it.sent.data(), bytes, std::uint64_t(round) * 1000 + n);
            const Rank from = Rank(n++ / std::size_t(2 * shape.dimensions()));
            job[it.to].flows().start(*it.in, it.receive, Buffer(it.got.data(), bytes));
            if (random.below(3) == 0) job.turn();
            job[from].flows().start(*it.out, it.send, Buffer(it.sent.data(), bytes));
            if (random.below(8) == 0) random.below(2) == 0 ? cables.cut_one() : cables.mend_one();
        }
        INFO(job.report());
        REQUIRE(job.run_until([&] {
            return std::all_of(channels.begin(), channels.end(), [](const Direction& it) {
                return it.send.complete() && it.receive.complete();
            });
        }));
        n = 0;
        for (Direction& it : channels) {
            REQUIRE(it.receive.status().error == Error::none);
            REQUIRE(filled(it.got.data(), it.got.size(), std::uint64_t(round) * 1000 + n++));
        }
    }
}

}  // namespace detour_test

// SPDX-License-Identifier: BSD-3-Clause
// Links and ranks that die: every request that depended on them ends with Error::unreachable, on
// every rank, and everything else goes on.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <deque>
#include <string>

#include "routing/ways.h"
#include "traffic.h"

using namespace torusmp;
using namespace torusmp::core;
using namespace torusmp::core::testing;

namespace fault_test {
namespace {

JobOptions torus(std::vector<int> dims, std::uint64_t seed) {
    JobOptions options = tight_torus(std::move(dims), seed);
    options.credits = 3;
    options.world.write = sim::Remote(seed % 4);
    options.world.read = sim::Remote(seed / 4 % 4);
    return options;
}

bool said(const Job& job, const std::string& what) {
    for (const std::string& line : job.log())
        if (line.find(what) != std::string::npos) return true;
    return false;
}

void kill_some_link(Job& job, sim::Random& random) {
    for (int tries = 0; tries < 50; ++tries) {
        const Rank rank = Rank(random.below(std::uint64_t(job.size())));
        const auto direction = routing::Direction::from_index(
            int(random.below(std::uint64_t(2 * job.torus().dimensions()))));
        if (!job.alive(rank) || !job.torus().neighbour(rank, direction)) continue;
        try {
            job.kill_link(rank, direction);
            return;
        } catch (const std::invalid_argument&) {
            continue;  // it is dead already
        }
    }
}

}  // namespace

TEST_CASE("when a rank dies, each request with it ends as unreachable, in time, and names it",
          "[core][fault]") {
    const std::uint64_t seed = GENERATE(range(1, 17));
    const bool direct = seed % 5 == 0;
    CAPTURE(seed);
    JobOptions options = torus({3, 2, 2}, seed);
    options.direct = direct;
    const std::size_t bytes = 3000;
    std::deque<SendRequest> sends;
    std::deque<ReceiveRequest> receives;
    std::deque<std::vector<std::byte>> buffers;
    Job job(options);
    const Rank victim = Rank(seed % 12);
    const auto room = [&] {
        buffers.emplace_back(bytes);
        return Buffer(buffers.back().data(), bytes);
    };
    std::vector<SendFlow*> send_flows;
    for (Rank rank = 0; rank < job.size(); ++rank) {
        if (rank == victim) continue;
        sends.emplace_back();
        job[rank].send(sends.back(), room(), victim, 0, 1);  // never received
        sends.emplace_back();
        job[rank].flows().start(job[rank].flows().open_send(victim, 0, 0), sends.back(), room());
        sends.emplace_back();
        Buffer small = room();
        small.bytes = 10;
        job[rank].send(sends.back(), small, victim, 0, 2, SendMode::synchronous);
        receives.emplace_back();
        job[rank].receive(receives.back(), room(), victim, 0, 3);  // never sent
        receives.emplace_back();
        job[rank].flows().start(job[rank].flows().open_receive(victim, 0, 0), receives.back(),
                                room());
        receives.emplace_back();
        job[rank].receive(receives.back(), room(), victim, 0, any_tag);
    }
    sim::Random random(seed);
    for (auto turns = random.below(300); turns > 0; --turns) job.turn();
    const sim::Time death = job.world().now();
    job.kill(victim);
    job.settle();
    INFO(job.report());
    REQUIRE((job.world().now() - death).count() < 5'000'000);
    for (const SendRequest& send : sends) {
        REQUIRE(send.complete());
        REQUIRE(send.status().error == Error::unreachable);
        REQUIRE(send.peer() == victim);
    }
    for (const ReceiveRequest& receive : receives) {
        REQUIRE(receive.complete());
        REQUIRE(receive.status().error == Error::unreachable);
        REQUIRE(receive.status().source == victim);
    }
    REQUIRE(said(job, "rank " + std::to_string(victim)));
    REQUIRE(job.quiet());
    // Requests that start afterwards end immediately.
    const Rank other = victim == 0 ? 1 : 0;
    SendRequest late_send;
    ReceiveRequest late_receive;
    job[other].send(late_send, room(), victim, 0, 1);
    job[other].receive(late_receive, room(), victim, 0, 1);
    job.settle();
    REQUIRE(late_send.complete());
    REQUIRE(late_send.status().error == Error::unreachable);
    REQUIRE(late_receive.complete());
    REQUIRE(late_receive.status().error == Error::unreachable);
}

TEST_CASE("when a link dies, the requests whose path crosses it end, and the others go on",
          "[core][fault]") {
    const std::uint64_t seed = GENERATE(range(1, 17));
    CAPTURE(seed);
    std::deque<SendRequest> sends;
    std::deque<ReceiveRequest> receives;
    std::deque<std::vector<std::byte>> buffers;
    Job job(torus({4, 3}, seed));
    sim::Random random(seed);
    const Rank at = Rank(random.below(12));
    const auto direction = routing::Direction::from_index(int(random.below(4)));
    const Rank other = *job.torus().neighbour(at, direction);
    job.kill_link(at, direction);
    job.settle();
    // Every rank that cannot reach another knows the dead link, and which rank saw it die.
    for (Rank from = 0; from < job.size(); ++from)
        for (Rank to = 0; to < job.size(); ++to) {
            const std::string why = job[from].state().fault_of(to);
            if (why == describe(Error::unreachable)) continue;  // it can be reached
            CAPTURE(from, to, why);
            const auto names = [&why](Rank a, Rank b) {
                const std::string link = "the link between rank " + std::to_string(a) +
                                         " and rank " + std::to_string(b) + " is dead; ";
                return why.find(link) == 0;
            };
            REQUIRE((names(at, other) || names(other, at)));
            REQUIRE((why.find("; rank " + std::to_string(at) + " saw: ") != why.npos ||
                     why.find("; rank " + std::to_string(other) + " saw: ") != why.npos));
            REQUIRE(why.find("reports it dead") == why.npos);
        }
    // Large messages take every shortest path, so each of them counts.
    const auto crosses = [&](Rank from, Rank to) {
        for (const auto first : routing::first_directions(job.torus(), from, to)) {
            Rank here = from;
            for (const auto& hop : routing::path_by(job.torus(), from, to, first)) {
                if (here == at && hop.direction == direction) return true;
                if (here == other && hop.direction == direction.opposite()) return true;
                here = hop.rank;
            }
        }
        return false;
    };
    std::vector<bool> cut;
    for (Rank from = 0; from < 12; ++from)
        for (Rank to = 0; to < 12; ++to) {
            buffers.emplace_back(1000);
            fill(buffers.back().data(), 1000, std::uint64_t(from * 12 + to));
            sends.emplace_back();
            job[from].send(sends.back(), Buffer(buffers.back().data(), 1000), to, 0, 0);
            buffers.emplace_back(1000);
            receives.emplace_back();
            job[to].receive(receives.back(), Buffer(buffers.back().data(), 1000), from, 0, 0);
            cut.push_back(crosses(from, to) || crosses(to, from));
        }
    job.settle();
    INFO(job.report());
    for (std::size_t i = 0; i < cut.size(); ++i) {
        CAPTURE(i / 12, i % 12, at, other);
        REQUIRE(sends[i].complete());
        REQUIRE(receives[i].complete());
        REQUIRE(sends[i].status().error == (cut[i] ? Error::unreachable : Error::none));
        REQUIRE(receives[i].status().error == (cut[i] ? Error::unreachable : Error::none));
        if (!cut[i]) REQUIRE(buffers[2 * i] == buffers[2 * i + 1]);
    }
    REQUIRE(job.quiet());
    REQUIRE(said(job, "rank " + std::to_string(at)));
}

TEST_CASE("after a sequence of random faults no request is left and no byte is wrong",
          "[core][fault]") {
    const std::uint64_t seed = GENERATE(range(100, 140));
    CAPTURE(seed);
    const std::vector<std::vector<int>> shapes{{3, 3, 2}, {2, 2, 2}, {6}, {4, 2}, {3, 2, 2, 2}};
    JobOptions options = torus(shapes[seed % shapes.size()], seed);
    options.direct = seed % 7 == 0;
    TrafficOptions traffic_options;
    traffic_options.messages = 600;
    Traffic traffic(options, traffic_options);
    traffic.expect_faults();
    sim::Random random(seed * 3);
    const int faults = 1 + int(random.below(4));
    for (int fault = 0; fault < faults; ++fault) {
        for (auto steps = random.below(400); steps > 0; --steps) traffic.step();
        if (options.direct || random.below(2) == 0)
            traffic.job().kill(Rank(random.below(std::uint64_t(traffic.job().size()))));
        else
            kill_some_link(traffic.job(), random);
    }
    const bool ended = traffic.run();
    if (!ended) FAIL(traffic.stuck());
    traffic.job().settle();
    INFO(traffic.job().report());
    REQUIRE(traffic.failure().empty());
    REQUIRE(traffic.job().quiet());
}

TEST_CASE("a receive from any source ends when a rank that could have sent to it dies",
          "[core][fault]") {
    std::vector<std::byte> room(100);
    ReceiveRequest receive;
    Job job(torus({3}, 1));
    job[0].receive(receive, Buffer(room.data(), room.size()), any_source, 0, any_tag);
    job.settle();
    REQUIRE_FALSE(receive.complete());
    job.kill(1);
    job.settle();
    REQUIRE(receive.complete());
    REQUIRE(receive.status().error == Error::unreachable);
    REQUIRE(receive.status().source == 1);
}

TEST_CASE("receives from any source end or are pending while their context is suspended",
          "[core][fault]") {
    constexpr Context suspended = 5, other = 6;
    std::array<std::byte, 6> room{};
    std::byte out{7};
    ReceiveRequest ends, ends_later, elsewhere, from_one, pends(true), pends_later(true);
    std::array<SendRequest, 4> sends;
    JobOptions options = torus({2}, 1);
    options.tolerates_deaths = true;
    Job job(options);
    const auto receive = [&](ReceiveRequest& request, std::size_t at, Rank source,
                             Context context) {
        job[0].receive(request, Buffer(&room.at(at), 1), source, context, 1);
    };
    receive(ends, 0, any_source, suspended);
    receive(pends, 1, any_source, suspended);
    receive(elsewhere, 2, any_source, other);
    receive(from_one, 3, 1, suspended);
    job[0].survivors().suspend_wildcards(suspended);
    receive(ends_later, 4, any_source, suspended);
    receive(pends_later, 5, any_source, suspended);
    for (const ReceiveRequest* it : {&ends, &ends_later}) {
        CHECK(it->complete());
        CHECK(it->status().error == Error::unreachable);
    }
    for (const ReceiveRequest* it : {&pends, &pends_later}) {
        CHECK(it->complete());
        CHECK(it->pending());
    }
    for (const ReceiveRequest* it : {&elsewhere, &from_one}) CHECK_FALSE(it->complete());

    job[0].survivors().resume_wildcards(suspended);
    receive(ends, 0, any_source, suspended);
    const std::array<ReceiveRequest*, 4> posted{&pends, &from_one, &pends_later, &ends};
    for (const ReceiveRequest* it : posted) CHECK_FALSE(it->complete());
    for (SendRequest& send : sends) job[1].send(send, Buffer(&out, 1), 0, suspended, 1);
    job.settle();
    for (const ReceiveRequest* it : posted) {
        CHECK(it->complete());
        CHECK(it->status().error == Error::none);
    }
    CHECK_FALSE(elsewhere.complete());
    job[0].cancel(elsewhere);
    job.settle();
}

TEST_CASE("a buffer returns to the caller only when no transfer uses it", "[core][fault][bug6]") {
    // In a periodic dimension of size 2 the way there and the way back are different links. When
    // the way back dies, the write on the way there is still under way.
    JobOptions options = torus({2}, 1);
    options.world.write = sim::Remote::pending;
    options.world.transfer = {sim::Time(5'000'000), sim::Time(5'000'000), 0.0, {}};
    options.world.down_within = sim::Time(1000);
    auto out = std::make_unique<std::vector<std::byte>>(2000, std::byte{7});
    std::vector<std::byte> in(2000);
    SendRequest send;
    ReceiveRequest receive;
    options.spread_limit = 10'000;
    Job job(options);
    job[1].receive(receive, Buffer(in.data(), in.size()), 0, 0, 0);
    for (int n = 0; n < 50 && job.world().counters().packets == 0; ++n) job.turn();
    while (!job.world().idle()) job.turn();
    job[0].send(send, Buffer(out->data(), out->size()), 1, 0, 0);
    REQUIRE(job.world().counters().transfers == 1);
    job.kill_link(0, {0, -1});
    job.run_until([&] { return send.complete() && receive.complete(); });
    REQUIRE(send.complete());
    REQUIRE(receive.complete());
    // Anything that arrives now is too late: the memory is used for something else.
    const std::vector<std::byte> reused(2000, std::byte{9});
    const bool arrived = receive.status().error == Error::none;
    if (!arrived) in = reused;
    std::fill(out->begin(), out->end(), std::byte{1});
    job.settle();
    REQUIRE(in == (arrived ? std::vector<std::byte>(2000, std::byte{7}) : reused));
}

TEST_CASE("only requests that need a peer without a possible connection end as unreachable",
          "[core][fault]") {
    const std::size_t bytes = 3000;  // beyond the eager limit
    std::vector<std::byte> memory(bytes);
    std::vector<std::byte> more(bytes);
    SendRequest send;
    SendRequest other;
    ReceiveRequest receive;
    JobOptions options = torus({5}, 1);
    options.direct = true;
    options.misnamed = 2;  // no neighbour of rank 0: connected on first use
    Job job(options);
    bool receives = false;
    SECTION("a small message") {
        job[0].send(send, {memory.data(), 8}, 2, 0, 0);
    }
    SECTION("a large message") {
        job[0].send(send, {memory.data(), bytes}, 2, 0, 0);
    }
    SECTION("a synchronous message") {
        job[0].send(send, {memory.data(), 8}, 2, 0, 0, SendMode::synchronous);
    }
    SECTION("a declared channel") {
        job[0].flows().start(job[0].flows().open_send(2, 0, 0), send, {memory.data(), 8});
    }
    SECTION("a large announced receive") {
        receives = true;
        job[0].receive(receive, {memory.data(), bytes}, 2, 0, 0);
    }
    job.settle();
    if (receives) {
        REQUIRE(receive.complete());
        CHECK(receive.status().error == Error::unreachable);
        job[0].send(send, {memory.data(), 8}, 2, 0, 1);
    }
    REQUIRE(send.complete());
    CHECK(send.status().error == Error::unreachable);
    job[0].send(other, {memory.data(), bytes}, 2, 0, 0);
    REQUIRE(other.complete());
    CHECK(other.status().error == Error::unreachable);
    // Reported once, with the reason.
    const auto has_reason = [](const std::string& line) {
        return line.starts_with("0: the connection to rank 2 cannot be established: ") &&
               line.find("not an address of this simulated network") != std::string::npos;
    };
    CHECK(std::count_if(job.log().begin(), job.log().end(), has_reason) == 1);
    // The others are as they were.
    SendRequest well;
    ReceiveRequest arrives;
    job[0].send(well, {memory.data(), bytes}, 3, 0, 0);
    job[3].receive(arrives, {more.data(), bytes}, 0, 0, 0);
    job.settle();
    REQUIRE(well.complete());
    REQUIRE(arrives.complete());
    CHECK(arrives.status().error == Error::none);
}

TEST_CASE("a link that does not come up is an error of the start, or a fault like any other",
          "[core][fault]") {
    JobOptions options = torus({4}, 1);
    options.misnamed = 1;
    SendRequest send;
    std::byte byte{};
    Job job(options);
    SECTION("the error of the start") {
        CHECK_THROWS_WITH(job[0].await_links(false),
                          Catch::Contains("link 0+ to rank 1 cannot be established: ") &&
                              Catch::Contains("not an address of this simulated network"));
        CHECK(job.log().empty());
    }
    SECTION("a fault like any other") {
        job[0].await_links(true);
        CHECK(said(job, "0: link 0+ to rank 1 cannot be established: "));
        job[0].send(send, {&byte, 1}, 1, 0, 0);
        REQUIRE(send.complete());
        CHECK(send.status().error == Error::unreachable);
    }
}

TEST_CASE("a rank waits for links until their other ends are present or reported dead",
          "[core][fault]") {
    sim::World world({});
    std::vector<std::string> log;
    std::vector<std::unique_ptr<Runtime>> ranks;
    std::vector<std::vector<std::byte>> addresses;
    for (Rank rank = 0; rank < 2; ++rank) {
        Options options{.torus = routing::Torus(std::vector<int>{2}, {false}),
                        .rank = rank,
                        .direct = {},
                        .log = [&](std::string_view text) { log.emplace_back(text); },
                        .name_of = {}};
        const bool late = rank == 0;
        // Simulated time does not pass by itself: rank 1 comes up, or dies, after rank 0 has been
        // looking for a while.
        options.on_interrupt = [&, late, turns = 0]() mutable {
            if (!late) return;
            if (++turns < 20) return ranks[0]->interrupt();
            if (addresses.size() == 2)
                ranks[1]->connect(addresses);
            else
                ranks[0]->peer_died(1, "it fell");
        };
        ranks.push_back(std::make_unique<Runtime>(
            std::move(options), [&](const std::vector<transport::PortOptions>& ports) {
                return std::unique_ptr<transport::Interface>(world.create({ports}));
            }));
    }
    addresses = {ranks[0]->address(), ranks[1]->address()};
    ranks[0]->connect(addresses);
    SECTION("present") {
        ranks[0]->interrupt();
        ranks[0]->await_links(false);
        CHECK(log.empty());
    }
    SECTION("dead") {
        addresses.clear();
        ranks[0]->interrupt();
        ranks[0]->await_links(true);
        REQUIRE(log.size() == 2);
        CHECK(log[0] == "rank 1 is dead: it fell");
    }
}
}  // namespace fault_test

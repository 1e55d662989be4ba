// SPDX-License-Identifier: BSD-3-Clause
// The analysis of hangs: the graph of waits against its definition, the causes found in snapshots
// made by hand, and the encoding in which ranks report their waits.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "job/hang/summary.h"
#include "job/hang/wait_graph.h"
#include "snapshots.h"

namespace torusmp::job {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using Operation = Waits::Operation;

// ---- the graph ----

WaitGraph any_graph(std::mt19937& random, int nodes) {
    const auto below = [&](int n) { return int(random() % unsigned(n)); };
    WaitGraph graph(nodes);
    for (int node = 0; node < nodes; ++node) {
        const int clauses = below(4) == 0 ? 0 : 1 + below(3);
        if (clauses == 0 && below(2) == 0) graph.bury(node);
        for (int i = 0; i < clauses; ++i) {
            std::vector<int> any_of;
            for (int k = below(4); k >= 0; --k) any_of.push_back(below(nodes));
            if (below(20) == 0) any_of.clear();
            graph.need(node, any_of);
        }
    }
    return graph;
}

// Lets everything go on that can, for as long as anything can.
std::vector<bool> stuck_by_definition(const WaitGraph& graph) {
    std::vector<bool> live(std::size_t(graph.size()));
    for (bool changed = true; changed;) {
        changed = false;
        for (int node = 0; node < graph.size(); ++node) {
            if (live[std::size_t(node)] || graph.gone(node)) continue;
            const auto& clauses = graph.clauses(node);
            const bool free = std::all_of(clauses.begin(), clauses.end(), [&](const auto& clause) {
                return std::any_of(clause.begin(), clause.end(),
                                   [&](int other) { return live[std::size_t(other)]; });
            });
            if (!free) continue;
            live[std::size_t(node)] = changed = true;
        }
    }
    std::vector<bool> stuck(live.size());
    for (int node = 0; node < graph.size(); ++node)
        stuck[std::size_t(node)] = !live[std::size_t(node)] && !graph.gone(node);
    return stuck;
}

bool names(const WaitGraph& graph, int node, int other) {
    for (const auto& clause : graph.clauses(node))
        if (std::find(clause.begin(), clause.end(), other) != clause.end()) return true;
    return false;
}

TEST_CASE("the waits that never end are the waits that no order of events ends") {
    std::mt19937 random(GENERATE(range(1u, 6u)));
    for (int round = 0; round < 400; ++round) {
        const WaitGraph graph = any_graph(random, 1 + int(random() % 12));
        REQUIRE(graph.stuck() == stuck_by_definition(graph));
    }
}

TEST_CASE("every stuck node depends on a knot, and a knot depends only on its own stuck nodes") {
    std::mt19937 random(GENERATE(range(10u, 15u)));
    for (int round = 0; round < 400; ++round) {
        const WaitGraph graph = any_graph(random, 1 + int(random() % 12));
        const auto stuck = graph.stuck();
        const auto knots = graph.knots();
        std::vector<bool> covered(stuck.size());
        for (const auto& knot : knots) {
            for (const int node : knot) {
                REQUIRE(stuck[std::size_t(node)]);
                REQUIRE_FALSE(covered[std::size_t(node)]);  // knots do not meet
                covered[std::size_t(node)] = true;
            }
            const auto circle = graph.circle(knot);
            REQUIRE((knot.size() == 1 || !circle.empty()));
            for (std::size_t i = 0; i < circle.size(); ++i) {
                REQUIRE(names(graph, circle[i], circle[(i + 1) % circle.size()]));
                REQUIRE(std::find(knot.begin(), knot.end(), circle[i]) != knot.end());
            }
        }
        // Whoever is stuck reaches a knot by stuck nodes.
        for (bool changed = true; changed;) {
            changed = false;
            for (int node = 0; node < graph.size(); ++node)
                for (int other = 0; other < graph.size(); ++other)
                    if (stuck[std::size_t(node)] && !covered[std::size_t(node)] &&
                        covered[std::size_t(other)] && names(graph, node, other))
                        covered[std::size_t(node)] = changed = true;
        }
        REQUIRE(covered == stuck);
        REQUIRE(knots.empty() == (std::find(stuck.begin(), stuck.end(), true) == stuck.end()));
    }
}

TEST_CASE("freeing one node of every knot's clauses sets its nodes free") {
    std::mt19937 random(77);
    for (int round = 0; round < 300; ++round) {
        const int nodes = 2 + int(random() % 8);
        WaitGraph ring(nodes + 1);  // 0 to nodes-1 in a circle; the last is free
        for (int node = 0; node < nodes; ++node) ring.need(node, {(node + 1) % nodes});
        REQUIRE(ring.knots().size() == 1);
        REQUIRE(ring.circle(ring.knots().front()).size() == std::size_t(nodes));
        WaitGraph with_exit(nodes + 1);
        const int exit = int(random() % unsigned(nodes));
        for (int node = 0; node < nodes; ++node)
            with_exit.need(node, node == exit ? std::vector{(node + 1) % nodes, nodes}
                                              : std::vector{(node + 1) % nodes});
        REQUIRE(with_exit.knots().empty());
        for (const auto& roots : with_exit.roots())
            REQUIRE((roots.empty() || roots == std::vector{nodes}));
    }
}

// ---- snapshots ----

TEST_CASE("a circle of sends is reported as a circle") {
    Snapshot snapshot(6, plain(RankState::Kind::computes));
    snapshot[0] = sends(0, 6, 3);
    snapshot[3] = sends(3, 6, 5);
    snapshot[5] = sends(5, 6, 0);
    snapshot[1] = receives(1, 6, 0, 4);
    CHECK(first(snapshot) ==
          "the job cannot go on: 0 -> 3 -> 5 -> 0, all in MPI_Send of 1 MiB, tag 0");
}

TEST_CASE("a long circle is cut short, and 64 ranks fit a screen") {
    Snapshot snapshot;
    for (Rank rank = 0; rank < 64; ++rank) snapshot.push_back(sends(rank, 64, (rank + 1) % 64));
    const Summary summary = summarize(snapshot);
    CHECK_THAT(summary.first,
               Contains("0 -> 1 -> 2 -> ... -> 63 -> 0 (64 ranks), all in MPI_Send"));
    CHECK(summary.lines.size() < 24);
    const std::string text = summary.text();
    CHECK_THAT(text, Contains("ranks 0-63 wait in MPI_Send of 1 MiB"));
    std::mt19937 random(5);
    for (int round = 0; round < 50; ++round) {
        for (Rank rank = 0; rank < 64; ++rank)
            snapshot[std::size_t(rank)] =
                random() % 3 == 0   ? receives(rank, 64, Rank(random() % 64), int(random() % 50))
                : random() % 2 == 0 ? sends(rank, 64, Rank(random() % 64), random() % 5000)
                                    : in_barrier(rank, 64);
        REQUIRE(summarize(snapshot).lines.size() < 24);
    }
}

TEST_CASE("a rank that all others wait for is reported with its activity") {
    Snapshot snapshot;
    for (Rank rank = 0; rank < 63; ++rank) snapshot.push_back(in_barrier(rank, 64));
    snapshot.push_back(plain(RankState::Kind::computes));
    CHECK(first(snapshot) ==
          "the job waits: ranks 0-62 wait for rank 63, which computes; 12 s so far");
    snapshot.back() = plain(RankState::Kind::stopped);
    CHECK_THAT(first(snapshot), Contains("rank 63, which is stopped by a signal"));
    CHECK(summarize(snapshot).lines.size() == 2);
}

TEST_CASE("an unmatched message is reported beside the unmatched receive") {
    Snapshot snapshot{in_barrier(0, 3), receives(1, 3, 0, 77), in_barrier(2, 3)};
    snapshot[1].waits->add(Waits::Message{.source = 0, .context = world, .tag = 78, .bytes = 4});
    CHECK(first(snapshot) ==
          "the job cannot go on: rank 1 receives tag 77 from rank 0; rank 0 sent tag 78, 4 B, at "
          "least 12 s ago");
    // While the sender can still send, it is not to blame.
    snapshot[0] = plain(RankState::Kind::computes);
    CHECK_THAT(first(snapshot), Contains("for rank 0, which computes"));
}

TEST_CASE("members of a group in different collectives are distinguished") {
    Snapshot snapshot{in_barrier(0, 3), in_barrier(1, 3, 128, "broadcast"), in_barrier(2, 3)};
    CHECK_THAT(first(snapshot),
               Contains("rank 0 called MPI_Barrier") && Contains("but rank 1 called MPI_Bcast"));
}

TEST_CASE("a rank that has completed a collective is not waited for") {
    Snapshot snapshot{in_barrier(0, 3), in_barrier(1, 3), in_barrier(2, 3, 256)};
    const auto causes = find_causes(snapshot);
    REQUIRE_FALSE(causes.empty());
    CHECK_THAT(first(snapshot), Contains("wait for") || Contains("->"));
    // Rank 2 waits for 0 and 1; these wait for no rank outside their call.
    CHECK(causes.front().kind == Cause::Kind::underway);
}

TEST_CASE("packets under way are not a hang") {
    Snapshot snapshot{sends(0, 2, 1), receives(1, 2, 0, 0)};
    const auto causes = find_causes(snapshot);
    REQUIRE(causes.size() == 1);
    CHECK(causes.front().kind == Cause::Kind::underway);
    Snapshot together;
    for (Rank rank = 0; rank < 4; ++rank) together.push_back(in_barrier(rank, 4));
    CHECK(find_causes(together).front().kind == Cause::Kind::underway);
}

TEST_CASE("a rank that has left is named") {
    Snapshot snapshot{plain(RankState::Kind::ended), receives(1, 2, 0, 5)};
    CHECK(first(snapshot) ==
          "the job cannot go on: rank 1 waits in MPI_Recv from rank 0, tag 5, "
          "and rank 0 has ended");
}

TEST_CASE("a receive from any source waits for one of all ranks") {
    Snapshot snapshot;
    for (Rank rank = 0; rank < 4; ++rank) snapshot.push_back(in_barrier(rank, 4));
    snapshot[0] = receives(0, 4, core::any_source, 9);
    CHECK_THAT(first(snapshot), Contains("rank 0 is in MPI_Recv from any rank, tag 9, but no rank "
                                         "can send it: ranks 1-3 wait too"));
    snapshot[2] = plain(RankState::Kind::computes);
    CHECK_THAT(first(snapshot), Contains("for rank 2, which computes"));
}

TEST_CASE("every snapshot has a summary, however strange") {
    std::mt19937 random(GENERATE(range(20u, 26u)));
    for (int round = 0; round < 300; ++round) {
        const int ranks = 1 + int(random() % 7);
        Snapshot snapshot;
        for (Rank rank = 0; rank < ranks; ++rank) {
            const auto any = [&] { return Rank(random() % unsigned(ranks)); };
            switch (random() % 5) {
                case 0:
                    snapshot.push_back(plain(RankState::Kind(1 + random() % 10)));
                    break;
                case 1:
                    snapshot.push_back(receives(rank, ranks, random() % 3 == 0 ? -1 : any(), 3));
                    break;
                case 2:
                    snapshot.push_back(sends(rank, ranks, any()));
                    break;
                default:
                    snapshot.push_back(in_barrier(rank, ranks, core::Tag(random() % 3) * 128 + 128,
                                                  random() % 5 == 0 ? "broadcast" : "barrier"));
            }
            RankState& state = snapshot.back();
            if (!state.waits) continue;
            state.waits->calls[0].any = random() % 2 == 0;
            for (int k = int(random() % 3); k > 0; --k)
                state.waits->add(Waits::Message{.at_sender = random() % 2 == 0,
                                                .source = any(),
                                                .context = world,
                                                .tag = int(random() % 5),
                                                .bytes = 4});
        }
        const Summary summary = summarize(snapshot);
        REQUIRE_FALSE(summary.first.empty());
        REQUIRE(summary.lines.size() <= most_summary_lines + 2);
        for (Rank rank = 0; rank < ranks; ++rank)
            REQUIRE_FALSE(report_of(rank, snapshot[std::size_t(rank)], ranks).empty());
    }
}

TEST_CASE("ranks are listed by runs") {
    CHECK(list_ranks({3}) == "rank 3");
    CHECK(list_ranks({0, 1, 2, 5}) == "ranks 0-2 and 5");
    CHECK(list_ranks({0, 2, 4, 6, 8, 10, 12, 14}) == "ranks 0, 2, 4, 6, 8, 10 and 2 more");
}

// ---- the encoding ----

TEST_CASE("waits are unchanged after encoding and decoding") {
    Waits waits = *receives(2, 5, core::any_source, 9).waits;
    waits.add(Waits::Message{.at_sender = true, .source = 4, .context = 7, .tag = 1, .bytes = 99});
    waits.add(Waits::Collective{.name = "allreduce",
                                .context = 1,
                                .tag = 256,
                                .root = 3,
                                .bytes = 8,
                                .what = "MPI_SUM",
                                .receives_from = {0, 1, 4},
                                .sends_to = {3},
                                .known = "all members have made the same call"});
    waits.queues.push_back({.name = "link", .peer = 1, .credits = 3, .of = 9, .relays = true});
    waits.traffic = {{0, 4'000'000'000, 3}, {4, 1, 2}};
    waits.links.push_back({.name = "link 0+ to rank 4",
                           .peer = 4,
                           .direction = 1,
                           .bytes = 1 << 30,
                           .silent = 2.5,
                           .apart = true});
    waits.looks_in = "MPI_Test";
    waits.sought = {waits.operations.front()};
    waits.notes = {"a note"};
    waits.counters = {"tcp: 5 packets"};
    const auto bytes = core::encode(waits);
    const auto back = core::decode_waits(bytes, 5);
    REQUIRE(back);
    CHECK(core::encode(*back) == bytes);
    CHECK(core::describe(*back, [](Rank r) { return fmt::format("r{}", r); }) ==
          core::describe(waits, [](Rank r) { return fmt::format("r{}", r); }));
    CHECK_FALSE(core::decode_waits(bytes, 4));  // of another job
}

TEST_CASE("a collective that waits for many messages of one rank is unchanged after encoding") {
    Waits waits = *in_barrier(1, 3).waits;
    waits.add(Waits::Collective{.name = "broadcast",
                                .context = 1,
                                .tag = 256,
                                .receives_from = {2, 2, 0, 2, 2, 2},
                                .sends_to = {0, 0, 0, 0}});
    const auto back = core::decode_waits(core::encode(waits), 3);
    REQUIRE(back);
    CHECK(back->collectives.back().receives_from == std::vector<Rank>{0, 2});
    CHECK(back->collectives.back().sends_to == std::vector<Rank>{0});
}

TEST_CASE("damaged waits are refused, and cost no memory") {
    const Waits waits = *in_barrier(1, 9).waits;
    const auto bytes = core::encode(waits);
    for (std::size_t length = 0; length < bytes.size(); ++length)
        REQUIRE_FALSE(core::decode_waits(std::span(bytes).first(length), 9));
    std::mt19937 random(3);
    for (int round = 0; round < 20000; ++round) {
        auto damaged = bytes;
        damaged[random() % damaged.size()] = std::byte(random());
        if (const auto read = core::decode_waits(damaged, 9)) {
            REQUIRE(read->rank < 9);
            for (const auto& it : read->operations) REQUIRE(it.peer < 9);
        }
    }
}

}  // namespace
}  // namespace torusmp::job

// SPDX-License-Identifier: BSD-3-Clause
// Messages under way are not a hang: snapshots made by hand, in which messages, credits or whole
// cables are under way.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "job/hang/summary.h"
#include "job/hang/words.h"
#include "snapshots.h"

namespace torusmp::job {
namespace transit_test {

using Catch::Contains;
using Catch::StartsWith;

void sent(Snapshot& snapshot, Rank from, Rank to, std::uint32_t sent, std::uint32_t taken) {
    const auto of = [&](Rank rank, Rank other) -> Waits::Traffic& {
        auto& all = snapshot[std::size_t(rank)].waits->traffic;
        const auto at =
            std::find_if(all.begin(), all.end(), [&](const auto& it) { return it.peer >= other; });
        return at != all.end() && at->peer == other ? *at : *all.insert(at, {other, 0, 0});
    };
    of(from, to).sent = sent;
    of(to, from).taken = taken;
}

TEST_CASE("a message under way is not a hang, although its receiver waits in a circle") {
    Snapshot snapshot{receives(0, 3, 2, 1), in_barrier(1, 3), receives(2, 3, 0, 1)};
    sent(snapshot, 2, 0, 7, 7);
    sent(snapshot, 0, 2, 5, 5);
    CHECK_THAT(first(snapshot), StartsWith("the job cannot go on: 0 -> 2 -> 0"));
    sent(snapshot, 2, 0, 7, 6);
    CHECK_FALSE(summarize(snapshot).final);
    CHECK_THAT(first(snapshot), Contains("rank 0 waits in MPI_Recv from rank 2, tag 1: the data "
                                         "that it waits for has been in transit for"));
    // One that any rank may send.
    snapshot[0] = receives(0, 3, core::any_source, 1);
    sent(snapshot, 2, 0, 7, 7);
    sent(snapshot, 0, 2, 5, 5);
    CHECK(summarize(snapshot).final);
    sent(snapshot, 1, 0, 1, 0);
    CHECK_FALSE(summarize(snapshot).final);
}

TEST_CASE(
    "a message of a collective that its sender has left is not a hang while it is under way") {
    Snapshot snapshot{in_barrier(0, 2), receives(1, 2, 0, 4)};
    snapshot[0].waits->collectives[0].receives_from = {1};
    snapshot[1].waits->group(collectives).last = 128;
    CHECK_THAT(first(snapshot), StartsWith("the job cannot go on: 0 -> 1 -> 0"));
    sent(snapshot, 1, 0, 3, 2);
    CHECK_FALSE(summarize(snapshot).final);
    // A large one comes in pieces, which have no place in the count.
    sent(snapshot, 1, 0, 3, 3);
    snapshot[0].waits->add(Operation{.stage = Operation::Stage::moving,
                                     .peer = 1,
                                     .context = collectives,
                                     .tag = 128,
                                     .bytes = 1 << 20});
    CHECK_FALSE(summarize(snapshot).final);
}

TEST_CASE("a member that has not entered is not waited for while the message is under way") {
    // The root's message for rank 1 is on its way; rank 2 waits for what rank 1 sends afterwards.
    Snapshot snapshot{in_barrier(0, 3, 256), in_barrier(1, 3, 128, "broadcast"),
                      receives(2, 3, 1, 4)};
    snapshot[1].waits->collectives[0].receives_from = {0};
    sent(snapshot, 0, 1, 2, 1);
    CHECK_FALSE(summarize(snapshot).final);
}

TEST_CASE("a credit is under way if its owner is in a call, but not if its owner computes") {
    Snapshot snapshot{in_barrier(0, 3), receives(1, 3, 0, 4), plain(RankState::Kind::computes)};
    snapshot[0] = answered(in_call(0, 3, "MPI_Send"));
    snapshot[0].waits->queues.push_back({.name = "link", .peer = 1, .credits = 0, .of = 4});
    CHECK_FALSE(summarize(snapshot).final);
    snapshot[1].waits->queues.push_back({.name = "link", .peer = 2, .credits = 0, .of = 4});
    CHECK_THAT(first(snapshot), Contains("wait for rank 2, which computes"));
}

TEST_CASE("a link that has been silent for a second is the cause, by the names of its ends") {
    Snapshot snapshot{receives(0, 3, 2, 1), in_barrier(1, 3), receives(2, 3, 0, 1)};
    const auto name = [](Rank rank, int direction) {
        return fmt::format("the cable at {} of {}", direction, rank);
    };
    const auto said = [&] { return summarize(snapshot, name).first; };
    CHECK(summarize(snapshot).final);
    Waits::Link link{
        .name = "link 0+ to rank 2", .peer = 2, .direction = 1, .bytes = 900, .silent = 0.3};
    snapshot[0].waits->links = {link};
    CHECK_FALSE(summarize(snapshot).final);
    CHECK_THAT(said(), !Contains("silent") && Contains("in transit"));
    snapshot[0].waits->links[0].silent = 2.5;
    link.silent = 1.5;
    link.peer = 0;
    snapshot[2].waits->links = {link};
    CHECK(said() ==
          "the job waits: the cable at 1 of 0 has been silent for 2.5 s; 900 B that rank 0 has "
          "sent over it are unconfirmed; ranks 0-2 wait; torus-check tests the cables");
    CHECK_THAT(first(snapshot), Contains("the link 0+ to rank 2 of rank 0 has been silent"));
    // Without a way at all nothing is known either.
    snapshot[0].waits->links = {{.name = "link", .peer = 2, .direction = 1, .apart = true}};
    snapshot[2].waits->links.clear();
    CHECK_FALSE(summarize(snapshot).final);
}

TEST_CASE("a rank that polls repeatedly is reported with the object of its polls") {
    Waits waits = *receives(0, 2, 1, 7).waits;
    waits.calls.clear();
    waits.looks_in = "MPI_Iprobe";
    waits.sought = {{.kind = Operation::Kind::probe, .peer = 1, .context = world, .tag = 7}};
    Snapshot snapshot{answered(waits), in_barrier(1, 2)};
    CHECK(first(snapshot) ==
          "the job waits: rank 1 waits for rank 0, which repeatedly calls MPI_Iprobe for a message "
          "from rank 1, tag 7; 12 s so far");
    snapshot[1] = plain(RankState::Kind::computes);
    CHECK(first(snapshot) ==
          "no rank waits in a call; rank 0 repeatedly calls MPI_Iprobe for a message from rank 1, "
          "tag 7");
}

}  // namespace transit_test
}  // namespace torusmp::job

// SPDX-License-Identifier: BSD-3-Clause
// Members that call different collectives, without the checking mode: every member's call
// ends, at least one rank gets an error, and the group can be used again.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/allgather/allgather.h"
#include "collectives/gather/gather.h"
#include "collectives/reduce/reduce.h"
#include "collectives/reduce_scatter/reduce_scatter.h"
#include "collectives/scan/scan.h"
#include "collectives/scatter/scatter.h"
#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using torusmp::core::Context;
using torusmp::core::Error;
using torusmp::core::Status;

namespace {

constexpr std::size_t most_bytes = 60000;  // of a block
constexpr int most_members = 12;

// A member with its memory; it starts a collective of a number of bytes from a root.
struct Member {
    std::unique_ptr<Group> group;
    std::unique_ptr<Allreduce> allreduce, barrier;
    std::unique_ptr<Broadcast> broadcast;
    std::unique_ptr<Reduce> reduce;
    std::unique_ptr<Scatter> scatter;
    std::unique_ptr<Gather> gather;
    std::unique_ptr<Allgather> allgather;
    std::unique_ptr<Alltoall> alltoall;
    std::unique_ptr<ReduceScatter> reduce_scatter;
    std::unique_ptr<Scan> scan;
    std::vector<std::size_t> counts;
    std::vector<std::byte> in, out;

    Member(torusmp::core::Runtime& runtime, const std::vector<torusmp::core::Rank>& members)
        : group(std::make_unique<Group>(runtime, members, Context(7))),
          allreduce(std::make_unique<Allreduce>(*group)),
          barrier(std::make_unique<Allreduce>(*group)),
          broadcast(std::make_unique<Broadcast>(*group)),
          reduce(std::make_unique<Reduce>(*group)),
          scatter(std::make_unique<Scatter>(*group)),
          gather(std::make_unique<Gather>(*group)),
          allgather(std::make_unique<Allgather>(*group)),
          alltoall(std::make_unique<Alltoall>(*group)),
          reduce_scatter(std::make_unique<ReduceScatter>(*group)),
          scan(std::make_unique<Scan>(*group)),
          in(most_bytes * most_members),
          out(most_bytes * most_members) {}
};

struct Meant {
    std::size_t bytes = 0;
    int root = 0;
    Wanted algorithm = nullptr;
    bool commutes = true;
    Operation operation() const {
        Operation operation = float_sum;
        operation.commutative = commutes;
        return operation;
    }
};

struct Kind {
    std::string name;
    const AlgorithmTable* table;  // null: no algorithm to choose
    bool rooted;
    bool reduces;
    std::function<const Schedule&(Member&, const Meant&)> start;

    std::vector<Wanted> algorithms() const {
        return table == nullptr ? std::vector<Wanted>{nullptr} : automatic_and_every(*table);
    }
};

const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all{
        {"barrier", nullptr, false, false,
         [](Member& m, const Meant&) -> const Schedule& {
             m.barrier->start_barrier();
             return *m.barrier;
         }},
        {"broadcast", &broadcast::algorithms(), true, false,
         [](Member& m, const Meant& c) -> const Schedule& {
             m.broadcast->start(m.in.data(), c.bytes, c.root, c.algorithm);
             return *m.broadcast;
         }},
        {"reduce", &reduce::algorithms(), true, true,
         [](Member& m, const Meant& c) -> const Schedule& {
             m.reduce->start(m.in.data(), m.out.data(), c.bytes / 4, c.operation(), c.root,
                             c.algorithm);
             return *m.reduce;
         }},
        {"allreduce", &allreduce::algorithms(), false, true,
         [](Member& m, const Meant& c) -> const Schedule& {
             m.allreduce->start(m.in.data(), c.bytes / 4, c.operation(), c.algorithm);
             return *m.allreduce;
         }},
        {"scatter", &scatter::algorithms(), true, false,
         [](Member& m, const Meant& c) -> const Schedule& {
             m.scatter->start(m.in.data(), c.bytes, m.out.data(), Blocks::even(c.bytes), c.root,
                              c.algorithm);
             return *m.scatter;
         }},
        {"gather", &gather::algorithms(), true, false,
         [](Member& m, const Meant& c) -> const Schedule& {
             m.gather->start(m.in.data(), Blocks::even(c.bytes), m.out.data(), c.bytes, c.root,
                             c.algorithm);
             return *m.gather;
         }},
        {"allgather", &allgather::algorithms(), false, false,
         [](Member& m, const Meant& c) -> const Schedule& {
             m.allgather->start(m.in.data(), Blocks::even(c.bytes), m.out.data(), c.algorithm);
             return *m.allgather;
         }},
        {"alltoall", &alltoall::algorithms(), false, false,
         [](Member& m, const Meant& c) -> const Schedule& {
             m.alltoall->start(m.in.data(), Blocks::even(c.bytes), m.out.data(),
                               Blocks::even(c.bytes), c.algorithm);
             return *m.alltoall;
         }},
        {"reduce-scatter", &reduce_scatter::algorithms(), false, true,
         [](Member& m, const Meant& c) -> const Schedule& {
             m.counts.assign(std::size_t(m.group->size()), c.bytes / 4);
             m.reduce_scatter->start(m.in.data(), m.out.data(), m.counts, c.operation(),
                                     c.algorithm);
             return *m.reduce_scatter;
         }},
        {"scan", &scan::algorithms(), false, true,
         [](Member& m, const Meant& c) -> const Schedule& {
             m.scan->start(m.in.data(), c.bytes / 4, c.operation(), ScanKind::inclusive,
                           c.algorithm);
             return *m.scan;
         }},
    };
    return all;
}
// All turn until they are done; if nothing moves any more, all have waited long.
template <class Done>
bool run_long(Job& job, Done&& done) {
    for (int round = 0; round < 4; ++round) {
        if (job.run_until(done)) return true;
        for (int rank = 0; rank < job.size(); ++rank) job[rank].notes().linger("a test");
    }
    return job.run_until(done);
}

// Says if a member must get an error because the members disagree.
enum class Report { must, may, must_not };

// Describes the fault after the calls; empty if there is none.
std::string outcome(Job& job, std::vector<Member>& members,
                    const std::vector<const Schedule*>& calls, Report report) {
    const auto ended = [&] {
        for (const Schedule* call : calls)
            if (!call->complete()) return false;
        return true;
    };
    if (!run_long(job, ended)) return "some calls never end:\n" + job.report();
    bool any = false;
    for (const Schedule* call : calls) {
        any |= call->error() != Error::none;
        if (call->error() == Error::none) continue;
        if (call->error() != Error::mismatch && call->error() != Error::truncated &&
            call->error() != Error::protocol)
            return "a strange error: " + call->failure();
        if (call->failed_peer() < 0) return "no rank is named: " + call->failure();
    }
    if (!any && report == Report::must) return "no rank got an error";
    if (any && report == Report::must_not) return "an error, although all members agree";
    // The next call succeeds.
    job.settle();
    if (!job.quiet()) return "something is left:\n" + job.report();
    std::vector<const Schedule*> next;
    for (std::size_t i = 0; i < members.size(); ++i) {
        members[i].in[0] = std::byte(i == 1 ? 42 : 0);
        members[i].broadcast->start(members[i].in.data(), 2500, 1);
    }
    const auto well = [&] {
        for (Member& member : members)
            if (!member.broadcast->complete() || member.broadcast->error() != Error::none)
                return false;
        return true;
    };
    if (!job.run_until(well))
        return "the next call fails: " + members[0].broadcast->failure() + "\n" + job.report();
    for (Member& member : members)
        if (member.in[0] != std::byte(42)) return "the next call brings something else";
    return {};
}

// Below the eager limit and above it.
const std::vector<std::size_t> lengths = {
#ifndef __SANITIZE_ADDRESS__
    3000,
#endif
    8, 30000};

struct Place {
    std::string name;
    JobOptions options;
};

std::vector<Place> places() {
    std::vector<Place> all;
    const std::vector<std::vector<int>> shapes = {
#ifndef __SANITIZE_ADDRESS__  // a tenth as fast; four hosts below have twelve ranks, too
        {2},
        {3, 4},
#endif
        {5},
        {2, 2, 2}};
    for (const auto& dims : shapes)
        for (const bool direct : {true, false})
            all.push_back({fmt::format("{} {}", direct ? "direct" : "linked", fmt::join(dims, "x")),
                           job_of(dims, direct, all.size() + 1)});
    auto hosts = job_of({4, 3}, false, 40);
    hosts.per_host = 3;
    all.push_back({"four hosts", hosts});
    return all;
}

// One member means something else.
std::string disagree(const Place& place, const Kind& kind, const Meant& meant, int odd,
                     const Kind& odd_kind, const Meant& odd_meant, Report report) {
    std::vector<Member> members;
    Job job(place.options);
    for (int rank = 0; rank < job.size(); ++rank) members.emplace_back(job[rank], all_ranks(job));
    std::vector<const Schedule*> calls;
    for (int node = 0; node < job.size(); ++node) {
        Member& member = members[std::size_t(node)];
        calls.push_back(node == odd ? &odd_kind.start(member, odd_meant)
                                    : &kind.start(member, meant));
        for (auto turns = job.random().below(20); turns > 0; --turns) job.turn();
    }
    return outcome(job, members, calls, report);
}

int size_of(const Place& place) {
    int size = 1;
    for (const int extent : place.options.dims) size *= extent;
    return size;
}

// Whether a combination is tried. With COLLECTIVES_WHOLE in the environment, which the long run
// sets, all are; otherwise every fifth one. No algorithm has a multiple of five of them, so each
// algorithm is tried with other ones.
bool is_chosen(int number) {
    return std::getenv("COLLECTIVES_WHOLE") != nullptr || number % 5 == 0;
}

}  // namespace

TEST_CASE("A count that differs on one member ends the call on all members, with every algorithm") {
    int number = 0;
    struct Sizes {
        std::size_t all, odd;
    };
    const std::vector<Sizes> all_sizes = {
#ifndef __SANITIZE_ADDRESS__  // a tenth as fast
        {8, 64}, {0, 8},     {8, 0}, {3000, 40}, {40, 30000}, {30000, 29000}, {20000, 60000},
#endif
        {64, 8}, {60000, 40}};
    for (const Place& place : places())
        for (const Kind& kind : kinds())
            for (const Wanted algorithm : kind.algorithms())
                for (const Sizes sizes : all_sizes)
                    for (const bool at_root : {true, false})
                        for (const bool commutes : {true, false}) {
                            if (kind.name == "barrier" || (!commutes && !kind.reduces)) continue;
                            if (!is_chosen(number++)) continue;
                            const int middle = size_of(place) / 2;
                            const Meant meant{sizes.all, kind.rooted ? middle : 0, algorithm,
                                              commutes};
                            Meant other = meant;
                            other.bytes = sizes.odd;
                            // Members with nothing to give or to get may take no part, and a place
                            // may be larger than its block.
                            const bool has_part = sizes.all != 0 && sizes.odd != 0;
                            const bool exact = kind.name != "scatter" && kind.name != "gather";
                            INFO(place.name << ": " << kind.name << ", " << name_of(algorithm)
                                            << ", " << sizes.all << " B, but " << sizes.odd
                                            << " B on " << (at_root ? "the root" : "member 0"));
                            REQUIRE(disagree(place, kind, meant, at_root ? middle : 0, kind, other,
                                             has_part && exact ? Report::must : Report::may) == "");
                        }
}

TEST_CASE("Different roots end the call on all members") {
    for (const Place& place : places())
        for (const Kind& kind : kinds())
            for (const Wanted algorithm : kind.algorithms())
                for (const std::size_t bytes : lengths) {
                    if (!kind.rooted) continue;
                    const int last = size_of(place) - 1;
                    INFO(place.name << ": " << kind.name << ", " << name_of(algorithm) << ", "
                                    << bytes << " B");
                    REQUIRE(disagree(place, kind, {bytes, 0, algorithm}, 1, kind,
                                     {bytes, last, algorithm}, Report::may) == "");
                }
}

TEST_CASE("Different collectives end with an error on all members") {
    for (const Place& place : places())
        for (const Kind& kind : kinds())
            for (const Kind& other : kinds())
                for (const std::size_t bytes : lengths) {
                    INFO(place.name << ": " << kind.name << ", but " << other.name
                                    << " on member 1, " << bytes << " B");
                    const bool same = &kind == &other;
                    REQUIRE(disagree(place, kind, {bytes, 0}, 1, other, {bytes, 0},
                                     same ? Report::must_not : Report::may) == "");
                }
}

TEST_CASE("Members are named with both calls, even if no message shows the difference") {
    std::vector<Member> members;
    Job job(job_of({4}, true));
    for (int rank = 0; rank < 4; ++rank) members.emplace_back(job[rank], all_ranks(job));
    for (int node = 0; node < 4; ++node) {
        Member& member = members[std::size_t(node)];
        if (node == 2)
            member.broadcast->start(member.in.data(), 30000, 0,
                                    named(broadcast::algorithms(), "disjoint"));
        else
            member.barrier->start_barrier();
    }
    const auto ended = [&] {
        for (int node = 0; node < 4; ++node)
            if (!(node == 2 ? members[2].broadcast->complete()
                            : members[std::size_t(node)].barrier->complete()))
                return false;
        return true;
    };
    REQUIRE_FALSE(job.run_until(ended));
    INFO(job.report());
    REQUIRE(run_long(job, ended));
    for (const Schedule* call : {static_cast<const Schedule*>(members[0].barrier.get()),
                                 static_cast<const Schedule*>(members[2].broadcast.get())}) {
        CHECK(call->error() == Error::mismatch);
        CHECK_THAT(call->failure(),
                   Catch::Contains("rank 2 called broadcast with root 0 and 30000 B"));
        CHECK_THAT(call->failure(), Catch::Contains("called barrier"));
    }
}

TEST_CASE(
    "A member's wrong block for itself ends the call on all members, even if groups are late") {
    for (const bool direct : {true, false})
        for (const int wrong : {0, 2})
            for (const int late : {0, 1, 2, 3}) {
                CAPTURE(direct, wrong, late);
                std::vector<std::unique_ptr<Member>> members(4);
                Job job(job_of({4}, direct));
                const auto join = [&](int rank) {
                    members[std::size_t(rank)] =
                        std::make_unique<Member>(job[rank], all_ranks(job));
                };
                const auto start = [&](int rank) {
                    Member& member = *members[std::size_t(rank)];
                    if (rank == wrong)
                        member.allgather->refuse(Blocks::even(40), 4);
                    else
                        member.allgather->start(member.in.data(), Blocks::even(40),
                                                member.out.data());
                };
                join(wrong);
                for (int rank = 0; rank < 4 - late; ++rank)
                    if (rank != wrong) join(rank);
                start(wrong);
                job.settle();  // the verdict does not find those that have no group yet
                for (int rank = 0; rank < 4; ++rank) {
                    if (members[std::size_t(rank)] == nullptr) join(rank);
                    if (rank != wrong) start(rank);
                }
                REQUIRE(run_long(job, [&] {
                    for (const auto& member : members)
                        if (!member->allgather->complete()) return false;
                    return true;
                }));
                for (int rank = 0; rank < 4; ++rank) {
                    CAPTURE(rank);
                    const Schedule& call = *members[std::size_t(rank)]->allgather;
                    CHECK(call.error() == Error::mismatch);
                    CHECK(call.sizes_differ());
                    CHECK_THAT(call.failure(),
                               Catch::Contains("sends 4 bytes to itself and receives 40"));
                }
                for (const auto& member : members) member->barrier->start_barrier();
                REQUIRE(run_long(job, [&] {
                    for (const auto& member : members)
                        if (!member->barrier->complete()) return false;
                    return true;
                }));
                for (const auto& member : members) CHECK(member->barrier->error() == Error::none);
            }
}

TEST_CASE("A late member is not a disagreement: reports name it, and no call fails") {
    std::vector<Member> members;
    Job job(job_of({3, 4}, false));
    for (int rank = 0; rank < 12; ++rank) members.emplace_back(job[rank], all_ranks(job));
    for (int node = 0; node < 12; ++node)
        if (node != 7) members[std::size_t(node)].barrier->start_barrier();
    const auto ended = [&] {
        for (const Member& member : members)
            if (!member.barrier->complete()) return false;
        return true;
    };
    job.settle();
    for (int round = 0; round < 3; ++round) {
        for (int rank = 0; rank < 12; ++rank)
            job[rank].notes().linger(rank == 7 ? "MPI_Recv" : "MPI_Barrier");
        job.settle();
    }
    for (const int node : {0, 3, 11}) {
        CHECK_FALSE(members[std::size_t(node)].barrier->complete());
        CHECK_THAT(job[node].state().report(),
                   Catch::Contains("rank 7 has not called it: it waits in MPI_Recv"));
    }
    members[7].barrier->start_barrier();
    REQUIRE(job.run_until(ended));
    for (const Member& member : members) CHECK(member.barrier->error() == Error::none);
}

TEST_CASE(
    "The call of a member that has already continued is remembered and reported to the others") {
    for (const bool direct : {true, false}) {
        std::vector<Member> members;
        Job job(job_of({5}, direct));
        for (int rank = 0; rank < 5; ++rank) members.emplace_back(job[rank], all_ranks(job));
        // The root's few bytes leave at once, and it goes on; the others wait for segments.
        members[0].broadcast->start(members[0].in.data(), 8, 0,
                                    named(broadcast::algorithms(), "lines"));
        for (int more = 0; more < 20; ++more) {
            REQUIRE(job.run_until([&] { return members[0].broadcast->complete(); }));
            members[0].broadcast->start(members[0].in.data(), 8, 0,
                                        named(broadcast::algorithms(), "lines"));
        }
        for (int node = 1; node < 5; ++node)
            members[std::size_t(node)].broadcast->start(members[std::size_t(node)].in.data(), 50000,
                                                        0,
                                                        named(broadcast::algorithms(), "disjoint"));
        INFO(job.report());
        REQUIRE(run_long(job, [&] {
            for (const Member& member : members)
                if (!member.broadcast->complete()) return false;
            return true;
        }));
        for (int node = 1; node < 5; ++node) {
            const Broadcast& broadcast = *members[std::size_t(node)].broadcast;
            CHECK(broadcast.sizes_differ());
            CHECK(broadcast.failed_peer() >= 0);
        }
    }
}

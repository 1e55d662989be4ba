// SPDX-License-Identifier: BSD-3-Clause
// The area through which members of one host exchange contents: calls that overlap and wrap around
// its rings, start again in any order, disagree, or have no memory.
#include "collectives/area/area.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <vector>

#include "collectives/alltoall/alltoall.h"
#include "collectives/gather/gather.h"
#include "collectives/reduce/reduce.h"
#include "collectives/scan/scan.h"
#include "collectives/scatter/scatter.h"
#include "collectives/simulated_group.h"

namespace torusmp::collectives::area_test {

using namespace torusmp::collectives::testing;
using core::Error;

Wanted area_of(const AlgorithmTable& table) {
    return named(table, "area");
}

TEST_CASE("a root is at most as many calls ahead as the rings have slots") {
    constexpr int slots = 128;
    constexpr int calls = 3 * slots;
    std::vector<std::unique_ptr<Group>> groups;
    std::vector<std::array<int, calls>> values(3);
    std::vector<std::deque<Broadcast>> schedules(3);
    Job job(job_of({3}, true));
    for (int member = 0; member < 3; ++member) {
        groups.push_back(std::make_unique<Group>(job[member], all_ranks(job), 7));
        for (int i = 0; i < calls; ++i) {
            values[std::size_t(member)][std::size_t(i)] = member == 0 ? 1000 + i : -1;
            schedules[std::size_t(member)].emplace_back(*groups.back());
        }
    }
    REQUIRE(Area::slots_of(3) == slots);
    const auto start = [&](int member, int i) {
        schedules[std::size_t(member)][std::size_t(i)].start(
            &values[std::size_t(member)][std::size_t(i)], sizeof(int), 0);
    };
    const auto ended = [&](int member) {
        int count = 0;
        for (const Broadcast& schedule : schedules[std::size_t(member)])
            count += schedule.complete() ? 1 : 0;
        return count;
    };
    for (int i = 0; i < calls; ++i) start(0, i);
    job.settle();
    CHECK(ended(0) == slots);
    // The slowest decides.
    for (int i = 0; i < calls; ++i) start(1, i);
    job.settle();
    CHECK(ended(0) == slots);
    CHECK(ended(1) == slots);
    for (int i = 0; i < calls; ++i) start(2, i);
    job.settle();
    for (int member = 0; member < 3; ++member) {
        CHECK(ended(member) == calls);
        for (int i = 0; i < calls; ++i)
            REQUIRE(values[std::size_t(member)][std::size_t(i)] == 1000 + i);
    }
}

// Along a chain each waits for the next alone: were all bound to the last by one ring, each would
// stop after a part of it.
TEST_CASE(
    "a member is at most a ring of calls ahead of its reader, however far behind other members "
    "are") {
    const std::uint64_t slots = Area::slots_of(4);
    const std::size_t calls = 4 * slots;
    std::vector<std::unique_ptr<Group>> groups;
    std::vector<std::vector<float>> values(4, std::vector<float>(calls, 1));
    std::vector<std::deque<Scan>> schedules(4);
    Job job(job_of({4}, true));
    for (int member = 0; member < 4; ++member) {
        groups.push_back(std::make_unique<Group>(job[member], all_ranks(job), 7));
        for (std::size_t i = 0; i < calls; ++i)
            schedules[std::size_t(member)].emplace_back(*groups.back());
    }
    const auto start_all = [&](std::size_t member) {
        for (std::size_t i = 0; i < calls; ++i)
            schedules[member][i].start(&values[member][i], 1, float_sum, ScanKind::inclusive,
                                       area_of(scan::algorithms()));
        job.settle();
    };
    const auto ended = [&](std::size_t member) {
        return std::count_if(schedules[member].begin(), schedules[member].end(),
                             [](const Scan& scan) { return scan.complete(); });
    };
    start_all(0);
    start_all(1);
    start_all(2);
    // The last has begun nothing.
    CHECK(ended(2) == std::ptrdiff_t(slots));
    CHECK(ended(1) > ended(2));
    CHECK(ended(1) <= std::ptrdiff_t(2 * slots));
    CHECK(ended(0) > ended(1));
    start_all(3);
    for (std::size_t member = 0; member < 4; ++member) {
        CHECK(ended(member) == std::ptrdiff_t(calls));
        for (const float value : values[member]) REQUIRE(value == float(member + 1));
    }
}

// The contents were for another member, and their slot has been overwritten since.
TEST_CASE(
    "a member that expects contents that were never written gets an error, however late it comes") {
    const std::size_t calls = Area::slots_of(4) + 8;
    std::vector<std::unique_ptr<Group>> groups;
    std::vector<std::vector<float>> values(4, std::vector<float>(calls, 1));
    std::vector<std::deque<Scan>> scans(4);
    Job job(job_of({4}, true));
    for (int member = 0; member < 4; ++member) {
        groups.push_back(std::make_unique<Group>(job[member], all_ranks(job), 7));
        for (std::size_t i = 0; i < calls; ++i)
            scans[std::size_t(member)].emplace_back(*groups.back());
    }
    const auto start = [&](std::size_t member, std::size_t i) {
        scans[member][i].start(&values[member][i], 1, float_sum, ScanKind::inclusive,
                               area_of(scan::algorithms()));
    };
    for (std::size_t member = 0; member < 3; ++member)
        for (std::size_t i = 0; i < calls; ++i) start(member, i);
    job.settle();
    REQUIRE(scans[0].back().complete());
    Broadcast odd(*groups[3]);
    odd.start(&values[3][0], sizeof(float), 0, area_of(broadcast::algorithms()));
    job.settle();
    REQUIRE(odd.complete());
    CHECK(odd.error() == Error::mismatch);
    CHECK(odd.failed_peer() == 0);
    for (std::size_t i = 1; i < calls; ++i) start(3, i);
    job.settle();
    for (std::size_t member = 0; member < 4; ++member)
        for (std::size_t i = 1; i < calls; ++i) {
            REQUIRE(scans[member][i].complete());
            REQUIRE(values[member][i] == float(member + 1));
        }
}

TEST_CASE(
    "long contents reuse their rooms in turn, between short ones and calls without the area") {
    const std::vector<std::size_t> sizes{8, 4096, 112, 113, 60000, 2000, 0, 4097};
    constexpr int calls = 400;
    std::vector<std::unique_ptr<Group>> groups;
    std::vector<std::vector<std::vector<std::byte>>> blocks(4);
    std::vector<std::deque<Broadcast>> schedules(4);
    const std::uint64_t seed = GENERATE(range(1, 6));
    Job job(job_of({4}, true, seed));
    for (int member = 0; member < 4; ++member) {
        groups.push_back(std::make_unique<Group>(job[member], all_ranks(job), 7));
        for (int i = 0; i < calls; ++i) {
            const std::size_t bytes = sizes[std::size_t(i * i + 3 * i) % sizes.size()];
            blocks[std::size_t(member)].emplace_back(bytes);
            if (member == i % 4)
                core::testing::fill(blocks[std::size_t(member)].back().data(), bytes,
                                    std::uint64_t(i));
            schedules[std::size_t(member)].emplace_back(*groups.back());
        }
    }
    start_in_any_order(job, 4, calls, [&](std::size_t member, std::size_t i) {
        schedules[member][i].start(blocks[member][i].data(), blocks[member][i].size(), int(i % 4));
    });
    job.settle();
    for (std::size_t member = 0; member < 4; ++member)
        for (std::size_t i = 0; i < calls; ++i) {
            REQUIRE(schedules[member][i].complete());
            REQUIRE(schedules[member][i].error() == Error::none);
            REQUIRE(core::testing::filled(blocks[member][i].data(), blocks[member][i].size(), i));
        }
}

TEST_CASE("calls with their own tags can be started in any order, repeatedly") {
    std::vector<std::unique_ptr<Group>> groups;
    std::vector<std::array<float, 2>> values(4);
    std::vector<std::deque<Allreduce>> schedules(4);
    Job job(job_of({2, 2}, true));
    for (int member = 0; member < 4; ++member) {
        groups.push_back(std::make_unique<Group>(job[member], all_ranks(job), 7));
        for (int i = 0; i < 2; ++i) {
            schedules[std::size_t(member)].emplace_back(*groups.back());
            schedules[std::size_t(member)].back().fix();
        }
    }
    for (int round = 0; round < 20; ++round) {
        for (std::size_t member = 0; member < 4; ++member) {
            values[member] = {float(member + 1), float(10 * (member + 1))};
            for (std::size_t k = 0; k < 2; ++k) {
                const std::size_t i = (k + member + std::size_t(round)) % 2;
                schedules[member][i].start(&values[member][i], 1, float_sum,
                                           area_of(allreduce::algorithms()));
            }
        }
        job.settle();
        for (std::size_t member = 0; member < 4; ++member) {
            REQUIRE(schedules[member][0].complete());
            REQUIRE(schedules[member][1].complete());
            REQUIRE(values[member] == std::array<float, 2>{10, 100});
        }
    }
    for (auto& all : schedules)
        for (Allreduce& schedule : all) schedule.unfix();
}

// A member's blocks for an alltoall, one after the other: size(from, to) of each.
struct Uneven {
    std::vector<std::size_t> sizes, offsets;
    std::vector<std::byte> bytes;
    template <class Size>
    Uneven(int members, Size&& size) {
        std::size_t end = 0;
        for (int i = 0; i < members; ++i) {
            sizes.push_back(size(i));
            offsets.push_back(end);
            end += sizes.back();
        }
        bytes.resize(end);
    }
    Blocks blocks() const { return Blocks::each(sizes, offsets); }
    std::byte* at(int member) { return bytes.data() + offsets[std::size_t(member)]; }
};

TEST_CASE("uneven blocks use the area if they fit and messages if not, in calls that overlap") {
    constexpr int members = 5;
    constexpr int calls = 100;
    const std::uint64_t seed = GENERATE(range(1, 6));
    // Small ones in most calls; in each third, those of some members do not fit.
    const auto size_of = [&](int call, int from, int to) {
        const auto mixed = std::uint64_t(call * 31 + from * 7 + to * 3) * (seed + 40503);
        const std::size_t most = call % 9 == 0 && (from + call) % 2 == 0 ? 150'000 : 90;
        return mixed % 5 == 0 ? std::size_t(0) : std::size_t(mixed >> 3) % most;
    };
    std::vector<std::unique_ptr<Group>> groups;
    std::vector<std::deque<Uneven>> in(members), out(members);
    std::vector<std::deque<Alltoall>> schedules(members);
    Job job(job_of({members}, true, seed));
    for (int m = 0; m < members; ++m) {
        const auto member = std::size_t(m);
        groups.push_back(std::make_unique<Group>(job[m], all_ranks(job), 7));
        for (int i = 0; i < calls; ++i) {
            out[member].emplace_back(members, [&](int to) { return size_of(i, m, to); });
            in[member].emplace_back(members, [&](int from) { return size_of(i, from, m); });
            for (int to = 0; to < members; ++to)
                core::testing::fill(out[member].back().at(to), size_of(i, m, to),
                                    std::uint64_t(i * 100 + m * 10 + to));
            schedules[member].emplace_back(*groups.back());
        }
    }
    start_in_any_order(job, members, calls, [&](std::size_t member, std::size_t i) {
        schedules[member][i].start(in[member][i].bytes.data(), in[member][i].blocks(),
                                   out[member][i].bytes.data(), out[member][i].blocks());
    });
    job.settle();
    for (int m = 0; m < members; ++m)
        for (int i = 0; i < calls; ++i) {
            const auto member = std::size_t(m);
            const auto call = std::size_t(i);
            REQUIRE(schedules[member][call].complete());
            REQUIRE(schedules[member][call].error() == Error::none);
            for (int from = 0; from < members; ++from)
                REQUIRE(core::testing::filled(in[member][call].at(from), size_of(i, from, m),
                                              std::uint64_t(i * 100 + from * 10 + m)));
        }
}

TEST_CASE("an uneven block that exceeds its room ends the call on all members") {
    const std::size_t too_many = GENERATE(std::size_t(0), std::size_t(9));
    std::vector<Uneven> in, out;
    SimulatedGroup<Alltoall> simulated;
    Job job(job_of({3}, true));
    simulated.sign_on(job, all_ranks(job));
    for (int m = 0; m < 3; ++m) {
        out.emplace_back(3, [&](int to) { return m == 1 && to == 2 ? too_many : 8; });
        in.emplace_back(3, [](int) { return std::size_t(8); });
    }
    for (int m = 0; m < 3; ++m)
        simulated[m].start(in[std::size_t(m)].bytes.data(), in[std::size_t(m)].blocks(),
                           out[std::size_t(m)].bytes.data(), out[std::size_t(m)].blocks());
    job.settle();
    REQUIRE(simulated[2].complete());
    CHECK(simulated[2].error() == (too_many > 8 ? Error::truncated : Error::mismatch));
    CHECK(simulated[2].failed_peer() == 1);
}

// Packets that ranks have sent to others of their host.
std::uint64_t sent_inside(Job& job) {
    std::uint64_t packets = 0;
    for (int rank = 0; rank < job.size(); ++rank)
        for (const auto& connection : job[rank].state().connections())
            if (!connection.link) packets += connection.statistics.packets_sent;
    return packets;
}

TEST_CASE("calls over hosts send no messages inside a host, in whatever order their parts begin") {
    constexpr int members = 6;
    constexpr int calls = 200;
    constexpr int fixed = 2;
    const std::uint64_t seed = GENERATE(range(1, 6));
    std::vector<std::unique_ptr<Group>> groups;
    std::vector<std::array<float, calls>> sums(members), values(members);
    std::vector<std::array<float, fixed>> again(members);
    std::vector<std::deque<Allreduce>> allreduces(members);
    std::vector<std::deque<Broadcast>> broadcasts(members);
    std::vector<std::deque<Allreduce>> fixed_ones(members);
    JobOptions options = job_of({2, 3}, false, seed);
    options.per_host = 3;
    options.world.mapped = true;
    Job job(options);
    for (int m = 0; m < members; ++m) {
        const auto member = std::size_t(m);
        groups.push_back(std::make_unique<Group>(job[m], all_ranks(job), 7));
        REQUIRE(groups.back()->hosts() != nullptr);
        for (int i = 0; i < calls; ++i) {
            sums[member][std::size_t(i)] = float(m + i);
            values[member][std::size_t(i)] = m == i % members ? float(i) : -1;
            allreduces[member].emplace_back(*groups.back());
            broadcasts[member].emplace_back(*groups.back());
        }
        for (int k = 0; k < fixed; ++k) {
            fixed_ones[member].emplace_back(*groups.back());
            fixed_ones[member].back().fix();
        }
    }
    std::uint64_t before = 0;
    for (int round = 0; round < 10; ++round) {
        for (std::size_t member = 0; member < members; ++member)
            for (std::size_t k = 0; k < fixed; ++k) {
                const std::size_t i = (k + member + std::size_t(round)) % fixed;
                again[member][i] = float(member + i);
                fixed_ones[member][i].start(&again[member][i], 1, float_sum);
            }
        job.settle();
        for (const auto& all : again) REQUIRE(all == std::array<float, fixed>{15, 21});
        if (round == 0) before = sent_inside(job);  // by now there are areas
    }
    CHECK(sent_inside(job) == before);

    std::array<int, members> next{};
    int left = members * calls;
    const auto start_one = [&](int limit) {
        const auto member = std::size_t(job.random().below(members));
        if (next[member] == limit) return;
        const auto i = std::size_t(next[member]++);
        --left;
        allreduces[member][i].start(&sums[member][i], 1, float_sum);
        broadcasts[member][i].start(&values[member][i], sizeof(float), int(i % members));
        if (job.random().below(3) == 0) job.turn();
    };
    while (left > members * (calls - 1)) start_one(1);
    job.settle();
    before = sent_inside(job);
    while (left > 0) start_one(calls);
    job.settle();
    CHECK(sent_inside(job) == before);
    for (std::size_t member = 0; member < members; ++member)
        for (std::size_t i = 0; i < calls; ++i) {
            REQUIRE(allreduces[member][i].complete());
            REQUIRE(broadcasts[member][i].complete());
            REQUIRE(sums[member][i] == float(15 + members * int(i)));
            REQUIRE(values[member][i] == float(i));
        }
    for (auto& all : fixed_ones)
        for (Allreduce& schedule : all) schedule.unfix();
}

TEST_CASE("without shared memory, calls do not use the area") {
    JobOptions options = job_of({5}, true);
    options.allocatable = 1000;
    SimulatedGroup<Allreduce> sums;
    std::array<float, 5> values{1, 2, 3, 4, 5};
    Job job(options);
    sums.sign_on(job, all_ranks(job));
    for (int call = 0; call < 3; ++call) {
        values = {1, 2, 3, 4, 5};
        for (int member = 0; member < 5; ++member)
            sums[member].start(&values[std::size_t(member)], 1, float_sum,
                               area_of(allreduce::algorithms()));
        REQUIRE(job.run_until([&] { return sums.complete(); }));
        CHECK(values == std::array<float, 5>{15, 15, 15, 15, 15});
        for (int member = 0; member < 5; ++member)
            CHECK(sums.groups[std::size_t(member)]->area()->largest() == 0);
    }
}

TEST_CASE("memory is freed when all members have released their areas") {
    Job job(job_of({3}, true));
    for (int round = 0; round < 3; ++round) {
        SimulatedGroup<Broadcast> simulated;
        std::array<int, 3> values{round, -1, -1};
        simulated.sign_on(job, all_ranks(job), core::Context(10 + round));
        for (int member = 0; member < 3; ++member)
            simulated[member].start(&values[std::size_t(member)], sizeof(int), 0);
        REQUIRE(job.run_until([&] { return simulated.complete(); }));
        CHECK(values == std::array<int, 3>{round, round, round});
        const auto& memory = job.interface(0, transport::most_link_ports + 1);
        CHECK(memory.allocated() > 0);
        job.settle();
        while (!simulated.groups.empty()) {
            simulated.schedules.pop_back();
            simulated.groups.pop_back();
        }
        // The maker's group ended last.
        CHECK(memory.allocated() == 0);
    }
}

TEST_CASE("notices of an area are not taken for notices of a later area with the same tag") {
    Job job(job_of({3}, true));
    SimulatedGroup<Broadcast> simulated;
    std::array<int, 3> values{17, -1, -1};
    simulated.sign_on(job, all_ranks(job));
    const auto start = [&](int member) {
        simulated[member].start(&values[std::size_t(member)], sizeof(int), 0,
                                area_of(broadcast::algorithms()));
    };
    // The root's call ends well, and the others never come to it.
    for (int member = 0; member < 3; ++member) simulated[member].fix();
    start(0);
    job.settle();
    REQUIRE(simulated[0].complete());
    // Until the tags have come round.
    for (int member = 0; member < 3; ++member)
        for (core::Tag i = 0; i <= Tags::counted; ++i) {
            simulated[member].unfix();
            simulated[member].fix();
        }
    values = {23, -1, -1};
    for (int member = 0; member < 3; ++member) start(member);
    REQUIRE(job.run_until([&] { return simulated.complete(); }));
    CHECK(values == std::array<int, 3>{23, 23, 23});
    for (int member = 0; member < 3; ++member) simulated[member].unfix();
    // The memory of the first area has come back, too.
    job.settle();
    while (!simulated.groups.empty()) {
        simulated.schedules.pop_back();
        simulated.groups.pop_back();
    }
    CHECK(job.interface(0, transport::most_link_ports + 1).allocated() == 0);
}

TEST_CASE("a size that differs ends the call on all members, and the next call succeeds") {
    SimulatedGroup<Broadcast> simulated;
    std::vector<std::vector<std::byte>> blocks(3, std::vector<std::byte>(64));
    Job job(job_of({3}, true));
    simulated.sign_on(job, all_ranks(job));
    for (const std::size_t odd : {std::size_t(4), std::size_t(16)}) {
        for (int member = 1; member < 3; ++member)
            simulated[member].start(blocks[std::size_t(member)].data(), member == 1 ? 8 : odd, 0);
        job.settle();
        simulated[0].start(blocks[0].data(), 8, 0);
        job.settle();
        CHECK(simulated[2].error() == (odd < 8 ? Error::truncated : Error::mismatch));
        CHECK(simulated[2].sizes_differ());
        CHECK(simulated[2].failed_peer() == 0);
        for (int member = 0; member < 3; ++member) REQUIRE(simulated[member].complete());
        core::testing::fill(blocks[0].data(), 64, odd);
        for (int member = 0; member < 3; ++member)
            simulated[member].start(blocks[std::size_t(member)].data(), 64, 0);
        REQUIRE(job.run_until([&] { return simulated.complete(); }));
        for (const auto& block : blocks) CHECK(core::testing::filled(block.data(), 64, odd));
    }
}

TEST_CASE(
    "blocks that are too long for the area are sent, and blocks of different sizes are detected") {
    const std::vector<std::size_t> small{3, 0, 700, 64, 8};
    const std::vector<std::size_t> large{3, 0, 300'000, 64, 8};
    for (const auto& sizes : {small, large}) {
        std::vector<std::size_t> offsets(5);
        for (std::size_t i = 1; i < 5; ++i) offsets[i] = offsets[i - 1] + sizes[i - 1];
        const std::size_t all = offsets[4] + sizes[4];
        std::vector<std::byte> out(all), in(all);
        core::testing::fill(out.data(), all, 5);
        std::vector<std::vector<std::byte>> blocks;
        for (const std::size_t size : sizes) blocks.emplace_back(size);
        SimulatedGroup<Scatter> scatter;
        SimulatedGroup<Gather> gather;
        Job job(job_of({5}, true));
        scatter.sign_on(job, all_ranks(job), 7);
        gather.sign_on(job, all_ranks(job), 8);
        for (int member = 0; member < 5; ++member) {
            auto& block = blocks[std::size_t(member)];
            scatter[member].start(block.data(), block.size(), out.data(),
                                  Blocks::each(sizes, offsets), 1, area_of(scatter::algorithms()));
        }
        REQUIRE(job.run_until([&] { return scatter.complete(); }));
        for (int member = 0; member < 5; ++member) {
            auto& block = blocks[std::size_t(member)];
            gather[member].start(in.data(), Blocks::each(sizes, offsets), block.data(),
                                 block.size(), 3, area_of(gather::algorithms()));
        }
        REQUIRE(job.run_until([&] { return gather.complete(); }));
        CHECK(in == out);
    }
}

}  // namespace torusmp::collectives::area_test

// SPDX-License-Identifier: BSD-3-Clause
// Contents that are longer than the rooms of the area use large buffers. These are few, so members
// must release them soon, whatever they call next and however calls end.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "collectives/allgather/allgather.h"
#include "collectives/area/area.h"
#include "collectives/gather/gather.h"
#include "collectives/reduce/reduce.h"
#include "collectives/reduce_scatter/reduce_scatter.h"
#include "collectives/scatter/scatter.h"
#include "collectives/simulated_group.h"

namespace torusmp::collectives::area_large_buffers_test {

using namespace torusmp::collectives::testing;
using core::Error;

constexpr int members = 4;
constexpr double infinitely_fast = 1e9;  // MB/s

Wanted area_of(const AlgorithmTable& table) {
    return named(table, "area");
}

// One call of all members, which is a broadcast, a scatter, a sum or a gather by its number. In the
// gather only members with even numbers have much.
class MixedCall {
  public:
    MixedCall(int number, std::size_t bytes)
        : number_(number), bytes_(bytes / sizeof(float) * sizeof(float)) {
        for (auto& values : values_) values.resize(count() * members);
        for (std::size_t m = 0; m < members; ++m) {
            for (std::size_t i = 0; i < values_[m].size(); ++i)
                values_[m][i] = kind() >= 2 || int(m) == root() ? value(m, i) : -1;
            sizes_[m] = m % 2 == 0 ? bytes_ : std::min(bytes_, sizeof(float));
            offsets_[m] = m * bytes_;
        }
        gathered_.resize(count() * members, -1);
    }
    void start(Group& group) {
        float* const values = values_[std::size_t(group.member())].data();
        if (kind() == 0) {
            broadcasts_.emplace_back(group).start(values, bytes_, root(),
                                                  area_of(broadcast::algorithms()));
        } else if (kind() == 1) {
            float* const in = group.member() == root() ? nullptr : values;
            scatters_.emplace_back(group).start(in, bytes_, values, Blocks::even(bytes_), root(),
                                                area_of(scatter::algorithms()));
        } else if (kind() == 2) {
            sums_.emplace_back(group).start(values, count(), float_sum,
                                            area_of(allreduce::algorithms()));
        } else {
            const auto member = std::size_t(group.member());
            gathers_.emplace_back(group).start(
                group.member() == root() ? gathered_.data() : nullptr,
                Blocks::each(sizes_, offsets_), values, sizes_[member], root(),
                area_of(gather::algorithms()));
        }
    }
    bool right() const {
        for (std::size_t m = 0; m < members; ++m)
            for (std::size_t i = 0; i < count(); ++i)
                if (found(m, i) != expected(m, i)) return false;
        return true;
    }
    bool ended_well() const {
        return all_well(broadcasts_) && all_well(scatters_) && all_well(sums_) &&
               all_well(gathers_);
    }

  private:
    int kind() const { return number_ % 4; }
    int root() const { return number_ / 4 % members; }
    std::size_t count() const { return bytes_ / sizeof(float); }
    float found(std::size_t member, std::size_t i) const {
        return kind() == 3 ? gathered_[member * count() + i] : values_[member][i];
    }
    float value(std::size_t member, std::size_t i) const {
        return float(number_ % 100 + 1000 * int(member) + int(i % 800));
    }
    float expected(std::size_t member, std::size_t i) const {
        const auto root = std::size_t(this->root());
        if (kind() == 0) return value(root, i);
        if (kind() == 1) return value(root, member == root ? i : i + member * count());
        if (kind() == 3) return i < sizes_[member] / sizeof(float) ? value(member, i) : -1;
        float sum = 0;
        for (std::size_t m = 0; m < members; ++m) sum += value(m, i);
        return sum;
    }

    int number_;
    std::size_t bytes_;
    std::array<std::vector<float>, members> values_;
    std::array<std::size_t, members> sizes_{}, offsets_{};  // of a gather
    std::vector<float> gathered_;
    std::deque<Broadcast> broadcasts_;
    std::deque<Scatter> scatters_;
    std::deque<Allreduce> sums_;
    std::deque<Gather> gathers_;
};

TEST_CASE("contents of every length reuse their places in turn, in calls that overlap") {
    const std::size_t most = Area::large_bytes(members, Area::slots_of(members));
    constexpr std::size_t room = Area::room_bytes(members);
    REQUIRE(most > room);
    const std::array<std::size_t, 14> sizes{8,
                                            Area::short_bytes,
                                            112,
                                            5000,
                                            Area::short_bytes + 4,
                                            400,
                                            room,
                                            80'000,
                                            0,
                                            room + 4,
                                            200,
                                            20'000,
                                            9000,
                                            30'000};
    constexpr int calls = 150;
    const std::uint64_t seed = GENERATE(range(1, 6));
    std::vector<std::unique_ptr<Group>> groups;
    std::deque<MixedCall> mixed;
    JobOptions options = job_of({members}, true, seed);
    // In every other job the kernel copies so fast that members soon send long contents.
    if (seed % 2 == 0) options.world.copy_rate = infinitely_fast;
    Job job(options);
    for (int m = 0; m < members; ++m)
        groups.push_back(std::make_unique<Group>(job[m], all_ranks(job), 7));
    for (int i = 0; i < calls; ++i)
        mixed.emplace_back(i, i == 60   ? most
                              : i == 61 ? most + 4
                                        : sizes[std::size_t(job.random().below(sizes.size()))]);
    start_in_any_order(job, members, calls,
                       [&](std::size_t member, std::size_t i) { mixed[i].start(*groups[member]); });
    job.settle();
    for (const MixedCall& call : mixed) {
        REQUIRE(call.ended_well());
        REQUIRE(call.right());
    }
}

TEST_CASE(
    "a call that fails before a member has reached its large buffer does not block later calls") {
    constexpr std::size_t bytes = 19000;
    SimulatedGroup<Broadcast> simulated;
    std::vector<std::vector<std::byte>> blocks(members, std::vector<std::byte>(bytes));
    JobOptions options = job_of({members}, true);
    options.world.all_mapped = GENERATE(false, true);
    Job job(options);
    simulated.sign_on(job, all_ranks(job));
    for (std::uint64_t round = 1; round < 40; ++round) {
        for (int m = 0; m < members; ++m)
            simulated[m].start(blocks[std::size_t(m)].data(), m == 2 ? 8 : bytes, 0,
                               area_of(broadcast::algorithms()));
        job.settle();
        for (int m = 0; m < members; ++m) REQUIRE(simulated[m].complete());
        REQUIRE(simulated[2].error() != Error::none);
        // A short one between, so that the next takes the same large buffer.
        for (const std::size_t size : {std::size_t(8), bytes}) {
            core::testing::fill(blocks[0].data(), size, round);
            for (int m = 0; m < members; ++m)
                simulated[m].start(blocks[std::size_t(m)].data(), size, 0,
                                   area_of(broadcast::algorithms()));
            REQUIRE(job.run_until([&] { return simulated.complete(); }));
            for (const auto& block : blocks)
                REQUIRE(core::testing::filled(block.data(), size, round));
        }
    }
}

TEST_CASE("two members that both call as the root of long contents get an error") {
    const bool scatters = GENERATE(false, true);
    constexpr std::size_t bytes = 20000;
    std::vector<std::vector<std::byte>> blocks(members, std::vector<std::byte>(members * bytes));
    SimulatedGroup<Broadcast> broadcast;
    SimulatedGroup<Scatter> scatter;
    JobOptions options = job_of({members}, true);
    options.world.all_mapped = GENERATE(false, true);
    Job job(options);
    broadcast.sign_on(job, all_ranks(job), 7);
    scatter.sign_on(job, all_ranks(job), 8);
    const auto start = [&](int member) {
        std::byte* const block = blocks[std::size_t(member)].data();
        const int root = member == 2 ? 2 : 0;
        if (scatters)
            scatter[member].start(member == root ? nullptr : block, bytes, block,
                                  Blocks::even(bytes), root, area_of(scatter::algorithms()));
        else
            broadcast[member].start(block, bytes, root, area_of(broadcast::algorithms()));
    };
    const std::vector<int> order = GENERATE(std::vector{1, 3, 0, 2}, std::vector{2, 1, 3, 0});
    for (const int member : order) {
        start(member);
        job.settle();
    }
    int found = 0;
    for (int member = 0; member < members; ++member) {
        CHECK((scatters ? scatter[member].complete() : broadcast[member].complete()));
        const Error error = scatters ? scatter[member].error() : broadcast[member].error();
        if (member % 2 == 0 && error == Error::truncated) ++found;
    }
    CHECK(found >= 1);
}

TEST_CASE("a call in which a member has lent memory ends there when all others have read it") {
    constexpr std::size_t bytes = 40000;
    JobOptions options = job_of({members}, true);
    options.world.all_mapped = true;
    Job job(options);
    SimulatedGroup<Broadcast> simulated;
    simulated.sign_on(job, all_ranks(job));
    std::vector<std::vector<std::byte>> blocks(members, std::vector<std::byte>(bytes));
    for (std::uint64_t round = 1; round < 10; ++round) {
        const int root = int(round) % members;
        const auto start = [&](int member) {
            simulated[member].start(blocks[std::size_t(member)].data(), bytes, root,
                                    area_of(broadcast::algorithms()));
        };
        core::testing::fill(blocks[std::size_t(root)].data(), bytes, round);
        start(root);
        for (int step = 1; step < members; ++step) {
            job.settle();
            CHECK_FALSE(simulated[root].complete());
            start((root + step) % members);
        }
        job.settle();
        REQUIRE(simulated.complete());
        for (const auto& block : blocks) REQUIRE(core::testing::filled(block.data(), bytes, round));
    }
}

TEST_CASE("a member without a block of long sums is soon known to be done with them") {
    constexpr std::size_t count = 5000;
    static_assert(2 * count * sizeof(float) > Area::room_bytes(members));
    const std::array<std::size_t, members> counts{0, count, 0, count};
    std::vector<std::unique_ptr<Group>> groups;
    std::deque<ReduceScatter> schedules;
    JobOptions options = job_of({members}, true);
    options.world.all_mapped = GENERATE(false, true);
    Job job(options);
    for (int m = 0; m < members; ++m) {
        groups.push_back(std::make_unique<Group>(job[m], all_ranks(job), 7));
        schedules.emplace_back(*groups.back());
    }
    const std::vector<float> values(2 * count, 1.0f);
    for (int call = 0; call < 6; ++call) {
        std::array<std::vector<float>, members> sums;
        for (std::size_t m = 0; m < members; ++m) {
            sums[m].resize(counts[m]);
            schedules[m].start(sums[m].data(), values.data(), counts, float_sum,
                               area_of(reduce_scatter::algorithms()));
        }
        INFO(job.report());
        const auto ended = [](const ReduceScatter& schedule) { return schedule.complete(); };
        REQUIRE(
            job.run_until([&] { return std::all_of(schedules.begin(), schedules.end(), ended); }));
        for (std::size_t m = 0; m < members; ++m)
            REQUIRE(sums[m] == std::vector<float>(counts[m], float(members)));
    }
}

TEST_CASE("calls with a tag of their own have large buffers of their own") {
    constexpr std::size_t count = 5000;
    std::vector<std::unique_ptr<Group>> groups;
    std::vector<std::array<std::vector<float>, 2>> values(members);
    std::vector<std::deque<Allreduce>> schedules(members);
    Job job(job_of({members}, true));
    for (int m = 0; m < members; ++m) {
        groups.push_back(std::make_unique<Group>(job[m], all_ranks(job), 7));
        for (int i = 0; i < 2; ++i) schedules[std::size_t(m)].emplace_back(*groups.back()).fix();
    }
    for (int round = 0; round < 20; ++round) {
        for (std::size_t m = 0; m < members; ++m)
            for (std::size_t k = 0; k < 2; ++k) {
                const std::size_t i = (k + m + std::size_t(round)) % 2;
                values[m][i].assign(count, float(m + 10 * i + std::size_t(round)));
                schedules[m][i].start(values[m][i].data(), count, float_sum,
                                      area_of(allreduce::algorithms()));
            }
        job.settle();
        for (std::size_t m = 0; m < members; ++m)
            for (std::size_t i = 0; i < 2; ++i) {
                REQUIRE(schedules[m][i].complete());
                REQUIRE(values[m][i] ==
                        std::vector<float>(count, float(6 + 40 * i) + float(4 * round)));
            }
    }
    for (auto& all : schedules)
        for (Allreduce& schedule : all) schedule.unfix();
}

TEST_CASE("calls over hosts have large buffers for each of their parts") {
    constexpr int ranks = 6;
    constexpr int calls = 60;
    constexpr std::size_t count = 5000;
    static_assert(count * sizeof(float) > Area::room_bytes(ranks));
    Policy policy;
    for (const AlgorithmTable* table :
         {static_cast<const AlgorithmTable*>(&broadcast::algorithms()),
          static_cast<const AlgorithmTable*>(&reduce::algorithms())})
        policy.choices[table] = parse_choice(*table, "host: area", table->defaults());
    const std::uint64_t seed = GENERATE(range(1, 6));
    std::vector<std::unique_ptr<Group>> groups;
    std::vector<std::deque<std::vector<float>>> sums(ranks), values(ranks);
    std::vector<std::deque<Allreduce>> allreduces(ranks);
    std::vector<std::deque<Broadcast>> broadcasts(ranks);
    JobOptions options = job_of({2, 3}, false, seed);
    options.per_host = 3;
    options.world.mapped = true;
    Job job(options);
    for (int r = 0; r < ranks; ++r) {
        const auto rank = std::size_t(r);
        groups.push_back(std::make_unique<Group>(job[r], all_ranks(job), 7, policy));
        REQUIRE(groups.back()->hosts() != nullptr);
        for (int i = 0; i < calls; ++i) {
            sums[rank].emplace_back(count, float(r + i));
            values[rank].emplace_back(count, r == i % ranks ? float(i) : -1);
            allreduces[rank].emplace_back(*groups.back());
            broadcasts[rank].emplace_back(*groups.back());
        }
    }
    start_in_any_order(job, ranks, calls, [&](std::size_t rank, std::size_t i) {
        allreduces[rank][i].start(sums[rank][i].data(), count, float_sum);
        broadcasts[rank][i].start(values[rank][i].data(), count * sizeof(float), int(i % ranks));
    });
    job.settle();
    for (std::size_t rank = 0; rank < ranks; ++rank)
        for (std::size_t i = 0; i < calls; ++i) {
            REQUIRE(allreduces[rank][i].complete());
            REQUIRE(broadcasts[rank][i].complete());
            REQUIRE(sums[rank][i] == std::vector<float>(count, float(15 + ranks * int(i))));
            REQUIRE(values[rank][i] == std::vector<float>(count, float(i)));
        }
}

// The calls of one member, each of which moves blocks of `count` values; the broadcast, of three
// times as many, so that a message is sooner there however fast this machine copies.
struct AllKinds {
    explicit AllKinds(Group& group)
        : group(group),
          broadcast(group),
          scatter(group),
          gather(group),
          allgather(group),
          alltoall(group),
          reduce(group) {}

    void start(std::size_t count, int root, int round) {
        const std::size_t bytes = count * sizeof(float);
        const auto member = std::size_t(group.member());
        const bool at_root = group.member() == root;
        const auto begin = [](std::vector<float>& values, std::size_t size, float value) {
            values.assign(size, value);
            return values.data();
        };
        const auto mine = float(member + 10 * std::size_t(round));
        broadcast.start(begin(values[0], 3 * count, at_root ? mine : -1), 3 * bytes, root,
                        area_of(broadcast::algorithms()));
        scatter.start(begin(values[1], count, -1), bytes, begin(sent[1], count * members, mine),
                      Blocks::even(bytes), root, area_of(scatter::algorithms()));
        gather.start(begin(values[2], count * members, -1), Blocks::even(bytes),
                     begin(sent[2], count, mine), bytes, root, area_of(gather::algorithms()));
        allgather.start(begin(values[3], count * members, -1), Blocks::even(bytes),
                        begin(sent[3], count, mine), area_of(allgather::algorithms()));
        alltoall.start(begin(values[4], count * members, -1), Blocks::even(bytes),
                       begin(sent[4], count * members, mine), Blocks::even(bytes),
                       area_of(alltoall::algorithms()));
        reduce.start(begin(values[5], count, -1), begin(sent[5], count, mine), count, float_sum,
                     root, area_of(reduce::algorithms()));
    }
    void check(std::size_t count, int root, int round) const {
        const auto of = [&](int member) { return float(member + 10 * round); };
        const bool at_root = group.member() == root;
        const std::vector<float> from_root(count, of(root));
        std::vector<float> from_all;
        for (int member = 0; member < members; ++member)
            from_all.insert(from_all.end(), count, of(member));
        REQUIRE(values[0] == std::vector<float>(3 * count, of(root)));
        REQUIRE(values[1] == from_root);
        if (at_root) REQUIRE(values[2] == from_all);
        REQUIRE(values[3] == from_all);
        REQUIRE(values[4] == from_all);
        if (at_root) REQUIRE(values[5] == std::vector<float>(count, of(0) + of(1) + of(2) + of(3)));
    }

    Group& group;
    Broadcast broadcast;
    Scatter scatter;
    Gather gather;
    Allgather allgather;
    Alltoall alltoall;
    Reduce reduce;
    std::array<std::vector<float>, 6> values, sent;
};

TEST_CASE("long contents are sent as messages if the kernel copies faster, with the same results") {
    const double rate = GENERATE(0.0, infinitely_fast);
    constexpr std::size_t count = 80'000 / sizeof(float);
    JobOptions options = job_of({members}, true);
    options.world.copy_rate = rate;
    std::vector<std::unique_ptr<Group>> groups;
    std::deque<AllKinds> calls;
    Job job(options);
    for (int m = 0; m < members; ++m) {
        groups.push_back(std::make_unique<Group>(job[m], all_ranks(job), 7));
        calls.emplace_back(*groups.back());
    }
    for (int round = 0; round < 24; ++round) {
        for (AllKinds& call : calls) call.start(count, round % members, round);
        job.settle();
        for (const AllKinds& call : calls) call.check(count, round % members, round);
    }
    std::uint64_t messages = 0;
    for (int m = 0; m < members; ++m)
        for (const auto& info : job[m].state().connections())
            messages += info.statistics.rendezvous;
    CHECK((messages != 0) == (rate != 0));
}

}  // namespace torusmp::collectives::area_large_buffers_test

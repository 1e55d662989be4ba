// SPDX-License-Identifier: BSD-3-Clause
// Collective accesses in whole jobs: random views, sizes, aggregators, windows and hints, against a
// model of the file, also over links whose cables die and come back.
#include <catch2/catch.hpp>

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "collectives/simulated_group.h"
#include "core/link/cable_faults.h"
#include "io/collective_access.h"
#include "io/memory_store.h"
#include "io/random_view.h"

namespace torusmp::io::collective_test {

// Bytes that this process holds, and the most that it has held; of all ranks of a job.
std::atomic<std::size_t> held{0}, most_held{0};

}  // namespace torusmp::io::collective_test

void* operator new(std::size_t bytes) {
    using namespace torusmp::io::collective_test;
    void* const memory = std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    const std::size_t now = held += malloc_usable_size(memory);
    std::size_t most = most_held;
    while (now > most && !most_held.compare_exchange_weak(most, now)) {
    }
    return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    try {
        return operator new(bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void operator delete(void* memory) noexcept {
    torusmp::io::collective_test::held -= malloc_usable_size(memory);
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    operator delete(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
    operator delete(memory);
}

namespace torusmp::io::collective_test {

using namespace testing;
using collectives::testing::all_ranks;
using collectives::testing::Job;
using collectives::testing::job_of;
using collectives::testing::JobOptions;
using core::testing::CableFaults;

// A file that all ranks of a job share, and what one call of a rank moves.
struct Share {
    std::vector<std::byte> memory;
    ModelledView view;
    Offset position = 0;
    CollectiveAccess::Place place;
};

// Declared before the job, as schedules must outlive it.
struct Scene {
    std::vector<std::unique_ptr<collectives::Group>> groups;
    std::vector<std::unique_ptr<CollectiveAccess>> accesses;
    std::vector<Share> shares;

    void sign_on(Job& job) {
        const auto members = all_ranks(job);
        shares.resize(members.size());
        for (const core::Rank rank : members) {
            groups.push_back(std::make_unique<collectives::Group>(job[rank], members, 7));
            accesses.push_back(std::make_unique<CollectiveAccess>(*groups.back(),
                                                                  shares[std::size_t(rank)].place));
        }
    }
    bool complete() const {
        return std::all_of(accesses.begin(), accesses.end(),
                           [](const auto& it) { return it->complete(); });
    }
    void start(bool write, bool atomic = false) {
        for (std::size_t i = 0; i < shares.size(); ++i)
            accesses[i]->start({.write = write,
                                .atomic = atomic,
                                .view = shares[i].view.view,
                                .position = shares[i].position,
                                .buffer = {shares[i].memory.data(), shares[i].memory.size()}});
    }
};

std::vector<int> random_aggregators(Random& random, int members) {
    std::vector<int> chosen;
    for (int member = 0; member < members; ++member)
        if (below(random, 2) == 0) chosen.push_back(member);
    if (chosen.empty()) chosen.push_back(int(below(random, std::size_t(members))));
    return chosen;
}

JobOptions random_job(Random& random) {
    static const std::vector<std::vector<int>> shapes{{1}, {2}, {3}, {2, 2}, {3, 2}, {2, 2, 2}};
    return job_of(shapes[below(random, shapes.size())], below(random, 2) == 0,
                  1 + below(random, 1000));
}

// Turns of the job until done(). A turn that only waits for a transfer moves nothing.
template <class Done>
bool ends(Job& job, const MemoryStore& store, Done&& done) {
    int vain = 0;
    while (!done()) {
        const bool waits = !store.under_way.empty();
        vain = job.turn() ? 0 : vain + 1;
        if (vain == 100'000 || (vain != 0 && !waits)) return done();
    }
    return true;
}

// One call: members write disjoint bytes, because what overlaps may be either.
void one_call(Job& job, Scene& scene, MemoryStore& store, Random& random, CableFaults* cables) {
    const bool write = below(random, 2) == 0;
    const std::size_t ranks = scene.shares.size();
    const bool only_aggregators_reach = below(random, 3) == 0;
    Hints hints;
    const Choice choices[] = {Choice::automatic, Choice::yes, Choice::no};
    hints.collective_write = hints.collective_read = choices[below(random, 3)];
    hints.striping_unit = 1 + below(random, 300);
    const std::size_t window = 16 + below(random, 2000);
    const int lanes = 1 + int(below(random, CollectiveAccess::most_lanes));
    const std::size_t shortest_lane = 1 + below(random, 500);
    const std::size_t shortest_transfer = below(random, 300);
    const bool in_background = below(random, 2) == 0;
    store.ends_now = nullptr;
    if (in_background) store.ends_now = [&random] { return below(random, 20) == 0; };
    const auto aggregators = random_aggregators(random, int(ranks));
    // All share one view: the stream of data is dealt out in pieces, rank by rank.
    const std::size_t most = 1 + below(random, 1500);
    const bool interleaved = below(random, 2) == 0;
    std::vector<ModelledView> views;
    if (!interleaved) views.push_back(random_view(random, most * ranks));
    const std::size_t row = 1 + below(random, 100);
    std::vector<std::byte> expected = store.bytes;
    std::vector<std::vector<std::byte>> wanted(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
        Share& share = scene.shares[i];
        const bool reaches =
            !only_aggregators_reach ||
            std::find(aggregators.begin(), aggregators.end(), int(i)) != aggregators.end();
        share.place.store = reaches ? &store : nullptr;
        share.place.aggregators = aggregators;
        share.place.window = window;
        share.place.lanes = lanes;
        share.place.shortest_lane = shortest_lane;
        share.place.shortest_transfer = shortest_transfer;
        share.place.hints = hints;
        share.memory.assign(below(random, 6) == 0 ? 0 : 1 + below(random, most), {});
        for (auto& byte : share.memory) byte = std::byte(random());
        if (interleaved) {
            // Rank i has the i-th row of each group of rows.
            const auto tile = std::make_shared<const core::Layout>(core::Shape::block(row),
                                                                   std::ptrdiff_t(row * ranks));
            share.view = {View(Offset(i * row), tile), {}};
            share.position = Offset(below(random, 200));
            for (std::size_t k = 0; k < 200 + most; ++k)
                share.view.offsets.push_back(Offset(i * row + k / row * row * ranks + k % row));
        } else {
            share.view = views[0];
            share.position = Offset(i * most);
        }
        wanted[i] = share.memory;
        for (std::size_t k = 0; k < share.memory.size(); ++k) {
            const auto at = std::size_t(share.view.offsets[std::size_t(share.position) + k]);
            if (write) {
                if (expected.size() <= at) expected.resize(at + 1);
                expected[at] = share.memory[k];
            } else if (at < store.bytes.size()) {
                wanted[i][k] = store.bytes[at];
            } else {
                wanted[i].resize(k);
                break;
            }
        }
    }
    scene.start(write);
    REQUIRE(ends(job, store, [&] {
        if (cables != nullptr) cables->happen();  // null: no cable dies
        return scene.complete();
    }));
    for (std::size_t i = 0; i < ranks; ++i) {
        CAPTURE(i, write, interleaved, only_aggregators_reach);
        REQUIRE(scene.accesses[i]->error() == core::Error::none);
        const auto& result = scene.accesses[i]->result();
        REQUIRE(result.error == 0);
        REQUIRE(result.bytes == wanted[i].size());
        scene.shares[i].memory.resize(result.bytes);
        REQUIRE(scene.shares[i].memory == wanted[i]);
    }
    REQUIRE(store.bytes == expected);
    REQUIRE(store.under_way.empty());
}

std::uint64_t rounds() {
    const char* const given = std::getenv("IO_ROUNDS");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : 60;
}

TEST_CASE("Collective accesses move what the model moves", "[io]") {
    for (std::uint64_t seed = 1; seed <= rounds(); ++seed) {
        CAPTURE(seed);
        Random random(seed);
        Scene scene;
        Job job(random_job(random));
        scene.sign_on(job);
        MemoryStore store;
        for (int call = 0; call < 10; ++call) {
            CAPTURE(call);
            one_call(job, scene, store, random, nullptr);
        }
    }
}

TEST_CASE("Collective accesses move what the model moves while cables die and come back", "[io]") {
    long cuts = 0;
    for (std::uint64_t seed = 1; seed <= rounds(); ++seed) {
        CAPTURE(seed);
        Random random(seed);
        static const std::vector<std::vector<int>> shapes{{3}, {2, 2}, {3, 2}, {2, 2, 2}, {3, 3}};
        Scene scene;
        Job job(core::testing::detour_torus(shapes[below(random, shapes.size())], seed));
        CableFaults cables(job, seed);
        scene.sign_on(job);
        MemoryStore store;
        for (int call = 0; call < 10; ++call) {
            CAPTURE(call);
            one_call(job, scene, store, random, &cables);
        }
        cuts += cables.cuts();
    }
    REQUIRE(cuts >= long(rounds()));
}

// Two ranks whose rows interleave, through one aggregator.
void two_with_rows(Scene& scene, MemoryStore& store) {
    for (std::size_t i = 0; i < 2; ++i) {
        Share& share = scene.shares[i];
        share.memory.assign(4000, std::byte(i + 1));
        share.view.view =
            View(Offset(i * 10), std::make_shared<const core::Layout>(core::Shape::block(10), 20));
        share.place = {.store = &store, .aggregators = {1}, .window = 512, .hints = {}};
        share.place.hints.collective_write = share.place.hints.collective_read = Choice::yes;
    }
}

TEST_CASE("A failed write is reported to all members, and the next call works", "[io]") {
    Scene scene;
    Job job(job_of({2}, true));
    scene.sign_on(job);
    MemoryStore store;
    two_with_rows(scene, store);
    store.write_error = ENOSPC;
    scene.start(true);
    REQUIRE(job.run_until([&] { return scene.complete(); }));
    for (const auto& access : scene.accesses) {
        REQUIRE(access->error() == core::Error::none);
        REQUIRE(access->result().error == ENOSPC);
        REQUIRE(access->result().member == 1);
        REQUIRE_FALSE(access->result().host.empty());
    }
    REQUIRE(store.bytes.empty());
    store.write_error = 0;
    scene.start(true);
    REQUIRE(job.run_until([&] { return scene.complete(); }));
    for (const auto& access : scene.accesses) REQUIRE(access->result().error == 0);
    REQUIRE(store.bytes.size() == 8000);
    for (std::size_t i = 0; i < 8000; ++i) REQUIRE(store.bytes[i] == std::byte(i / 10 % 2 + 1));
}

TEST_CASE("A file that shrinks while it is read gives the remaining bytes", "[io]") {
    Scene scene;
    Job job(job_of({2}, true));
    scene.sign_on(job);
    MemoryStore store;
    two_with_rows(scene, store);
    store.bytes.assign(8000, std::byte{7});
    store.shrunk_to = 1005;
    scene.start(false);
    REQUIRE(job.run_until([&] { return scene.complete(); }));
    REQUIRE(scene.accesses[0]->result().bytes == 505);
    REQUIRE(scene.accesses[1]->result().bytes == 500);
    for (const auto& access : scene.accesses) REQUIRE(access->result().error == 0);
}

// Rows in turn, of which each rank has one in each group, at a random place in it: no two of them
// are at the same distance for long.
TEST_CASE("Memory is at most twice the limit of the aggregators, however short the rows", "[io]") {
    constexpr std::size_t ranks = 4, groups = 8192, window = std::size_t(3) << 20;
    constexpr std::size_t packets = std::size_t(512) << 10;  // of core, under way
    const std::vector<std::pair<std::size_t, int>> cases = {
#ifndef __SANITIZE_ADDRESS__  // short rows are a tenth as fast there
        {1, 1},  {8, 1},   {8, 4}, {1000, 1},
#endif
        {64, 1}, {1000, 4}};
    for (const auto& [row, lanes] : cases) {
        const std::size_t bytes = (std::size_t(6) << 20) / row * row;
        std::vector<std::vector<core::Layout::Run>> runs(ranks);
        Random random(row);
        for (std::size_t group = 0; group < groups; ++group) {
            const std::size_t turn = below(random, ranks);
            for (std::size_t i = 0; i < ranks; ++i)
                runs[i].push_back(
                    {std::ptrdiff_t((group * ranks + (i + turn) % ranks) * row), row, 1, 0});
        }
        Scene scene;
        Job job(job_of({2, 2}, true));
        scene.sign_on(job);
        MemoryStore store;
        store.bytes.reserve(ranks * (bytes + groups * row));
        // The program's memory is scattered.
        const core::Layout gaps(core::Shape::block(4), 8);
        for (std::size_t i = 0; i < ranks; ++i) {
            Share& share = scene.shares[i];
            const core::Layout all(runs[i]);
            share.view.view = View(0, std::make_shared<const core::Layout>(
                                          all.element(), std::ptrdiff_t(groups * ranks * row)));
            share.memory.resize(2 * bytes + 8);
            for (auto& byte : share.memory) byte = std::byte(random());
            share.place = {.store = &store,
                           .aggregators = {1, 2},
                           .window = window,
                           .lanes = lanes,
                           .hints = {}};
        }
        const auto call = [&](bool write) {
            const std::size_t before = held;
            most_held = before;
            for (std::size_t i = 0; i < ranks; ++i)
                scene.accesses[i]->start(
                    {.write = write,
                     .view = scene.shares[i].view.view,
                     .buffer = {static_cast<void*>(scene.shares[i].memory.data()), gaps,
                                bytes / 4}});
            REQUIRE(job.run_until([&] { return scene.complete(); }));
            for (const auto& access : scene.accesses) {
                REQUIRE(access->error() == core::Error::none);
                REQUIRE(access->result().error == 0);
                REQUIRE(access->result().bytes == bytes / 4 * 4);
            }
            CAPTURE(row, lanes, write);
            CHECK(double(most_held - before) <= double(2 * 2 * window + packets));
        };
        call(true);
        std::vector<std::vector<std::byte>> written;
        for (Share& share : scene.shares) written.push_back(share.memory);
        for (Share& share : scene.shares)
            for (std::size_t k = 0; k < bytes / 4 * 4; ++k)
                share.memory[k / 4 * 8 + k % 4] = std::byte{0};
        call(false);
        for (std::size_t i = 0; i < ranks; ++i) REQUIRE(scene.shares[i].memory == written[i]);
    }
}

TEST_CASE("A rank that dies ends the call on the others", "[io]") {
    Scene scene;
    Job job(job_of({3}, true));
    scene.sign_on(job);
    MemoryStore store;
    for (Share& share : scene.shares) {
        share.memory.assign(3000, std::byte{1});
        share.place = {.store = &store, .aggregators = {0}, .window = 512, .hints = {}};
    }
    for (int i = 0; i < 2; ++i)
        scene.accesses[std::size_t(i)]->start(
            {.write = true, .view = View(), .buffer = {scene.shares[0].memory.data(), 3000}});
    job.kill(2);
    REQUIRE(job.run_until(
        [&] { return scene.accesses[0]->complete() && scene.accesses[1]->complete(); }));
    REQUIRE(scene.accesses[0]->error() == core::Error::unreachable);
    REQUIRE(scene.accesses[1]->error() == core::Error::unreachable);
}

// Otherwise a write of a call that has failed could follow one of the next call.
TEST_CASE("A call that a death ends is complete after its transfers", "[io]") {
    Scene scene;
    Job job(job_of({3}, true));
    scene.sign_on(job);
    MemoryStore store;
    store.ends_now = [] { return false; };
    for (Share& share : scene.shares) {
        share.memory.assign(3000, std::byte{1});
        share.place = {.store = &store,
                       .aggregators = {0},
                       .window = 2000,
                       .lanes = 4,
                       .shortest_lane = 1,
                       .shortest_transfer = 1,
                       .hints = {}};
        share.place.hints.striping_unit = 1;
        share.place.hints.collective_write = Choice::yes;
    }
    scene.start(true);
    REQUIRE(ends(job, store, [&] { return store.under_way.size() >= 2; }));
    job.kill(2);
    REQUIRE(ends(job, store,
                 [&] { return scene.accesses[0]->complete() && scene.accesses[1]->complete(); }));
    REQUIRE(store.under_way.empty());
    REQUIRE(scene.accesses[0]->error() == core::Error::unreachable);
}

}  // namespace torusmp::io::collective_test

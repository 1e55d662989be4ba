// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/scatter/scatter.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "collectives/algorithm/frames.h"
#include "collectives/gather/gather.h"
#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using torusmp::core::Error;
using torusmp::core::Rank;
using torusmp::core::testing::fill;
using torusmp::core::testing::filled;

namespace scatter_test {
namespace {

using Random = std::mt19937;

struct Machine {
    std::vector<int> dims;
    std::vector<bool> periodic;
};
const std::vector<Machine> machines{{{1}, {}},
                                    {{2}, {}},
                                    {{2}, {false}},
                                    {{7}, {false}},
                                    {{4, 4, 2}, {}},
                                    {{3, 5}, {}},
                                    {{2, 2, 2}, {}},
                                    {{3, 4}, {false, true}},
                                    {{3, 3, 2}, {false, false, false}}};

JobOptions job_on(const Machine& machine, bool direct, std::uint64_t seed) {
    JobOptions options = job_of(machine.dims, direct, seed);
    options.periodic = machine.periodic;
    options.credits = options.relay_credits = 2;
    return options;
}

// Blocks of all nodes in one buffer, in any order and with gaps, which must stay as they are.
struct Buffer {
    static constexpr std::byte gap{0x5a};
    std::vector<std::size_t> sizes, offsets;
    std::vector<std::byte> bytes;

    Buffer(std::vector<std::size_t> of_nodes, Random& random) : sizes(std::move(of_nodes)) {
        std::vector<std::size_t> order(sizes.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        offsets.resize(sizes.size());
        std::size_t end = 0;
        for (const std::size_t node : order) {
            offsets[node] = end + random() % 9;
            end = offsets[node] + sizes[node];
        }
        bytes.assign(end + 8, gap);
    }
    Blocks blocks() const { return Blocks::each(sizes, offsets); }
    std::byte* block(std::size_t node) { return bytes.data() + offsets[node]; }
    void fill_block(std::size_t node, std::uint64_t seed) {
        fill(block(node), sizes[node], seed + node);
    }
    void fill_all(std::uint64_t seed) {
        for (std::size_t node = 0; node < sizes.size(); ++node) fill_block(node, seed);
    }
    bool holds(std::uint64_t seed) const {
        std::vector<bool> inside(bytes.size(), false);
        for (std::size_t node = 0; node < sizes.size(); ++node) {
            if (!filled(bytes.data() + offsets[node], sizes[node], seed + node)) return false;
            std::fill_n(inside.begin() + std::ptrdiff_t(offsets[node]), sizes[node], true);
        }
        for (std::size_t i = 0; i < bytes.size(); ++i)
            if (!inside[i] && bytes[i] != gap) return false;
        return true;
    }
};

// From nothing to many frames and, now and then, so long that a block goes by itself.
std::vector<std::size_t> sizes_of(int nodes, Random& random) {
    const std::size_t most = std::vector<std::size_t>{0, 64, 700, 6000, 20000}[random() % 5];
    const bool even = random() % 2 == 0;
    std::vector<std::size_t> sizes;
    for (int node = 0; node < nodes; ++node) {
        const std::size_t least = random() % 4 == 0 ? 0 : most / 4;
        sizes.push_back(even ? most : least + random() % (most - least + 1));
    }
    return sizes;
}

std::vector<Rank> members_of(const Job& job, Random& random) {
    std::vector<Rank> members = all_ranks(job);
    if (random() % 3 == 0) return members;
    std::shuffle(members.begin(), members.end(), random);
    if (random() % 2 == 0) members.resize(1 + random() % members.size());
    return members;
}

using Table = const AlgorithmTable&;

Wanted any_of(const AlgorithmTable& table, Random& random) {
    const std::vector<Wanted> all = automatic_and_every(table);
    return all[random() % all.size()];
}

// One scatter and one gather that run at the same time; the results are checked at the end.
struct Exchange {
    int root = 0;
    bool in_place = false;
    std::uint64_t seed = 0;
    std::optional<Buffer> out, in;                   // of the roots
    std::vector<std::vector<std::byte>> got, given;  // by node

    Exchange(int nodes, Random& random) : seed(random()) {
        root = int(random() % unsigned(nodes));
        in_place = random() % 3 == 0;
        out.emplace(sizes_of(nodes, random), random);
        in.emplace(sizes_of(nodes, random), random);
        out->fill_all(seed);
        if (in_place) in->fill_block(std::size_t(root), seed + 1000);
        for (std::size_t node = 0; node < std::size_t(nodes); ++node) {
            got.emplace_back(out->sizes[node] + 1, Buffer::gap);
            given.emplace_back(in->sizes[node]);
            fill(given.back().data(), given.back().size(), seed + 1000 + node);
        }
    }
    void start(SimulatedGroup<Scatter>& scatters, SimulatedGroup<Gather>& gathers, Random& random) {
        const Wanted scatter_by = any_of(scatter::algorithms(), random);
        const Wanted gather_by = any_of(gather::algorithms(), random);
        for (int node = 0; node < scatters.size(); ++node) {
            const bool at_root = node == root;
            auto& own = got[std::size_t(node)];
            auto& mine = given[std::size_t(node)];
            scatters[node].start(at_root && in_place ? nullptr : own.data(), own.size() - 1,
                                 at_root ? out->bytes.data() : nullptr,
                                 at_root ? out->blocks() : Blocks{}, root, scatter_by);
            gathers[node].start(
                at_root ? in->bytes.data() : nullptr, at_root ? in->blocks() : Blocks{},
                at_root && in_place ? nullptr : mine.data(), mine.size(), root, gather_by);
        }
    }
    void check() const {
        CHECK(out->holds(seed));
        CHECK(in->holds(seed + 1000));
        for (std::size_t node = 0; node < got.size(); ++node) {
            CAPTURE(node);
            CHECK(got[node].back() == Buffer::gap);
            if (int(node) == root && in_place) continue;
            CHECK(filled(got[node].data(), got[node].size() - 1, seed + node));
        }
    }
};

}  // namespace

TEST_CASE("Scatter and gather move every block to its place, for all shapes, roots and sizes") {
    const int seed = GENERATE(range(1, 60));
    Random random{std::uint32_t(seed)};
    const Machine& machine = machines[random() % machines.size()];
    const bool direct = random() % 4 == 0;
    CAPTURE(seed, machine.dims, direct);
    SimulatedGroup<Scatter> scatters;
    SimulatedGroup<Gather> gathers;
    std::vector<Exchange> exchanges;
    Job job(job_on(machine, direct, std::uint64_t(seed)));
    const std::vector<Rank> members = members_of(job, random);
    CAPTURE(members);
    scatters.sign_on(job, members, 7);
    gathers.sign_on(job, members, 8);
    // The same schedules again and again.
    for (int round = 0; round < 3; ++round) {
        exchanges.emplace_back(scatters.size(), random);
        CAPTURE(round, exchanges.back().root, exchanges.back().in_place);
        exchanges.back().start(scatters, gathers, random);
        INFO(job.report());
        REQUIRE(job.run_until([&] { return scatters.complete() && gathers.complete(); }));
        exchanges.back().check();
    }
    job.settle();
    CHECK(job.quiet());
    CHECK(job.credits_home());
}

TEST_CASE("Small blocks of a region travel together: one packet over each arc of the trees") {
    SimulatedGroup<Scatter> scatters;
    SimulatedGroup<Gather> gathers;
    std::vector<std::byte> all(32 * 64), own(32 * 64);
    JobOptions options = job_of({4, 4, 2}, false);
    options.credits = 64;  // so that none has to return in a packet of its own
    Job job(options);
    scatters.sign_on(job, all_ranks(job), 7);
    gathers.sign_on(job, all_ranks(job), 8);
    fill(all.data(), all.size(), 3);
    // Two cables lead to the gate of two regions.
    const std::uint64_t arcs = 31 + 1;
    const auto packets = [&] { return job.world().counters().packets; };
    std::uint64_t before = packets();
    for (int node = 0; node < 32; ++node)
        scatters[node].start(own.data() + 64 * node, 64, all.data(), Blocks::even(64), 5);
    REQUIRE(job.run_until([&] { return scatters.complete(); }));
    CHECK(own == all);
    CHECK(packets() - before == arcs);
    before = packets();
    std::fill(all.begin(), all.end(), std::byte{0});
    for (int node = 0; node < 32; ++node)
        gathers[node].start(all.data(), Blocks::even(64), own.data() + 64 * node, 64, 5);
    REQUIRE(job.run_until([&] { return gathers.complete(); }));
    CHECK(own == all);
    CHECK(packets() - before == arcs);
}

TEST_CASE("A block without room is an error at its receiver, and the others get their blocks") {
    for (const std::size_t bytes : {std::size_t(100), std::size_t(5000), std::size_t(50000)})
        for (const bool scatter : {true, false})
            for (const Wanted algorithm :
                 every(scatter ? Table(scatter::algorithms()) : Table(gather::algorithms()))) {
                CAPTURE(bytes, scatter, algorithm->name);
                constexpr int root = 1, small = 4;
                SimulatedGroup<Scatter> scatters;
                SimulatedGroup<Gather> gathers;
                std::vector<std::byte> all(9 * bytes), own(9 * bytes);
                std::vector<std::size_t> sizes(9, bytes), offsets;
                for (std::size_t node = 0; node < 9; ++node) offsets.push_back(node * bytes);
                sizes[small] -= 1;
                Job job(job_of({3, 3}, false, bytes));
                scatters.sign_on(job, all_ranks(job), 7);
                gathers.sign_on(job, all_ranks(job), 8);
                const auto ended = [&](const auto& simulated) {
                    for (const auto& schedule : simulated.schedules)
                        if (!schedule.complete()) return false;
                    return true;
                };
                fill(scatter ? all.data() : own.data(), all.size(), 3);
                for (int node = 0; node < 9; ++node) {
                    std::byte* mine = own.data() + std::size_t(node) * bytes;
                    if (scatter)
                        scatters[node].start(mine, sizes[std::size_t(node)], all.data(),
                                             Blocks::even(bytes), root, algorithm);
                    else
                        gathers[node].start(all.data(), Blocks::each(sizes, offsets), mine, bytes,
                                            root, algorithm);
                }
                REQUIRE(job.run_until([&] { return scatter ? ended(scatters) : ended(gathers); }));
                for (int node = 0; node < 9; ++node) {
                    CAPTURE(node);
                    const bool hurt = node == (scatter ? small : root);
                    const Error error = scatter ? scatters[node].error() : gathers[node].error();
                    CHECK(error == (hurt ? Error::truncated : Error::none));
                    if (scatter && !hurt)
                        CHECK(std::memcmp(own.data() + std::size_t(node) * bytes,
                                          all.data() + std::size_t(node) * bytes, bytes) == 0);
                }
            }
}

TEST_CASE("A frame reader shows whole pieces only") {
    std::vector<std::byte> memory(100);
    FrameWriter writer(memory.data(), memory.size());
    CHECK(writer.room() == 84);
    const std::vector<std::byte> bytes(30, std::byte{7});
    writer.add({3, 30, 12 | Piece::last}, bytes.data());
    writer.add({4, 0, Piece::last | Piece::apart}, bytes.data());
    CHECK(writer.used() == 62);
    CHECK(writer.room() == 22);
    FrameReader reader(memory.data(), writer.used());
    Piece piece;
    REQUIRE(reader.peek(piece));
    CHECK((piece.place == 3 && piece.bytes == 30 && piece.offset() == 12));
    CHECK((piece.is_last() && !piece.is_apart()));
    CHECK(std::memcmp(reader.bytes(), bytes.data(), 30) == 0);
    reader.skip(piece);
    REQUIRE(reader.peek(piece));
    CHECK((piece.place == 4 && piece.bytes == 0 && piece.is_apart()));
    reader.skip(piece);
    CHECK(reader.at_end());
    CHECK_FALSE(reader.peek(piece));
    // Truncated in the header of a piece, and in its bytes.
    for (const std::size_t end : {std::size_t(15), std::size_t(16), std::size_t(45)})
        CHECK_FALSE(FrameReader(memory.data(), end).peek(piece));
}

TEST_CASE("An impossible frame ends the collective with an error that names its sender") {
    struct Lie {
        Piece piece;
        std::size_t bytes;  // of the message
    };
    const std::uint64_t last = Piece::last;
    // On a line of three with the root at its end, the member in the middle expects ten bytes.
    const std::vector<Lie> lies{
        {{1, 10, last}, 15},                 // less than the header of a piece
        {{1, 11, last}, 26},                 // a byte less than it says
        {{3, 10, last}, 26},                 // the block of no member
        {{0, 10, last}, 26},                 // the root's own
        {{1, 9, 1 | last}, 25},              // begins beyond what came before
        {{1, 10, last | Piece::apart}, 26},  // apart and here
        {{1, 0, Piece::apart}, 16},          // apart, and more to come
    };
    for (const Lie& lie : lies) {
        CAPTURE(lie.piece.place, lie.piece.bytes, lie.piece.about, lie.bytes);
        SimulatedGroup<Scatter> simulated;
        torusmp::core::SendRequest request;
        std::vector<std::byte> frame(64), own(10);
        std::memcpy(frame.data(), &lie.piece, sizeof lie.piece);
        JobOptions options = job_of({3}, false);
        options.periodic = {false};
        Job job(options);
        simulated.sign_on(job, all_ranks(job), 7);
        simulated[1].start(own.data(), 10, nullptr, {}, 0);
        // As the root's first region would send it: see Schedule on tags.
        const int tag = simulated.groups[0]->tags().next() * max_streams;
        job[0].send(request, {frame.data(), lie.bytes}, 1, 7, tag);
        REQUIRE(job.run_until([&] { return simulated[1].complete(); }));
        CHECK(simulated[1].error() == Error::protocol);
        CHECK(simulated[1].failed_peer() == 0);
    }
}

}  // namespace scatter_test

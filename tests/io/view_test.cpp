// SPDX-License-Identifier: BSD-3-Clause
// Views, runs, coverage and domains against maps of bytes.
#include <catch2/catch.hpp>

#include "io/access.h"
#include "io/domains.h"
#include "io/memory_store.h"
#include "io/random_view.h"
#include "io/runs.h"

namespace torusmp::io::view_test {

using namespace testing;

TEST_CASE("A view selects the bytes of its model", "[io]") {
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const std::size_t bytes = 1 + below(random, 3000);
        const ModelledView model = random_view(random, bytes);
        for (int i = 0; i < 20; ++i) {
            const std::size_t at = below(random, bytes);
            REQUIRE(model.view.offset_of(Offset(at)) == model.offsets[at]);
            const Offset offset = Offset(below(random, std::size_t(model.offsets.back()) + 1));
            const auto before =
                std::lower_bound(model.offsets.begin(), model.offsets.end(), offset);
            REQUIRE(model.view.position_of(offset) == before - model.offsets.begin());
        }
        const std::size_t from = below(random, bytes), count = below(random, bytes - from + 1);
        std::vector<Offset> visited;
        model.view.for_each(Offset(from), count, [&](Offset offset, std::size_t piece) {
            for (std::size_t i = 0; i < piece; ++i) visited.push_back(offset + Offset(i));
            return true;
        });
        REQUIRE(visited ==
                std::vector<Offset>(model.offsets.begin() + std::ptrdiff_t(from),
                                    model.offsets.begin() + std::ptrdiff_t(from + count)));
    }
}

TEST_CASE("Views that go backwards or overlap are refused", "[io]") {
    const core::Shape block = core::Shape::block(8);
    const auto sequence = [&](std::ptrdiff_t a, std::ptrdiff_t b) {
        const std::vector<core::Shape::Placed> parts{{a, block}, {b, block}};
        return core::Shape::sequence(parts);
    };
    REQUIRE(View::can_be(core::Layout(sequence(0, 8), 16)));
    REQUIRE(View::can_be(core::Layout(sequence(0, 20), 28)));
    REQUIRE(View::can_be(core::Layout(sequence(4, 20), 24)));  // tiles fit into each other's gaps
    REQUIRE_FALSE(View::can_be(core::Layout(sequence(20, 0), 28)));
    REQUIRE_FALSE(View::can_be(core::Layout(sequence(0, 7), 28)));
    REQUIRE_FALSE(View::can_be(core::Layout(sequence(-8, 8), 28)));
    REQUIRE_FALSE(View::can_be(core::Layout(block.repeated(3, -8), 28)));
    REQUIRE_FALSE(View::can_be(core::Layout(block.repeated(3, 4).repeated(2, 100), 200)));
    REQUIRE(View::can_be(core::Layout(core::Shape(), 0)));
    REQUIRE(View::can_be(core::Layout(sequence(0, 7), 28), true));
    REQUIRE(View::can_be(core::Layout(block.repeated(3, 4), 8), true));
    REQUIRE_FALSE(View::can_be(core::Layout(sequence(20, 0), 28), true));
    REQUIRE_FALSE(View::can_be(core::Layout(sequence(-8, 8), 28), true));
}

TEST_CASE("A layout longer than its extent is one tile with all of its bytes", "[io]") {
    // Rows of 8 bytes, 20 apart; the extents are too short for another tile.
    const core::Shape rows = core::Shape::block(8).repeated(3, 20);
    for (const std::ptrdiff_t extent : {47, 8, 0, -5}) {
        CAPTURE(extent);
        const core::Layout tile(rows, extent);
        REQUIRE(View::can_be(tile));
        const View view(100, std::make_shared<const core::Layout>(tile));
        REQUIRE_FALSE(view.overlaps());
        REQUIRE(view.end() == 24);
        for (Offset position = 0; position < 24; ++position) {
            const Offset offset = 100 + position / 8 * 20 + position % 8;
            REQUIRE(view.offset_of(position) == offset);
            REQUIRE(view.position_of(offset) == position);
        }
        REQUIRE(view.position_of(148) == 24);
    }
    const auto repeated = std::make_shared<const core::Layout>(rows, 48);
    REQUIRE(View(0, repeated).end() > 1000000);
    REQUIRE(View(0, repeated).offset_of(24) == 48);
    // Reads may see the tiles overlap, as long as each begins behind the one before.
    const View twice(0, std::make_shared<const core::Layout>(rows, 44), true);
    REQUIRE(twice.overlaps());
    REQUIRE(twice.offset_of(24) == 44);
    const View still(0, std::make_shared<const core::Layout>(core::Shape::block(8), 0), true);
    REQUIRE(still.end() == 8);
    REQUIRE(still.position_of(50) >= 8);
}

TEST_CASE("Runs cover what was added, and coverage is what they mark", "[io]") {
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const std::size_t window = 1 + below(random, 2000);
        std::vector<bool> bytes(window), from_runs(window);
        Coverage coverage;
        coverage.reset(window);
        for (int member = 0; member < 3; ++member) {
            Runs runs;
            std::size_t at = 0;
            while (true) {
                at += below(random, 2) == 0 ? 8 : below(random, 90);
                const std::size_t piece = below(random, 2) == 0 ? 4 : 1 + below(random, 150);
                if (at + piece > window) break;
                runs.add(std::int64_t(at), std::int64_t(piece));
                for (std::size_t i = 0; i < piece; ++i) bytes[at + i] = true;
                at += piece + 1;
            }
            for (const Run& run : runs.list()) {
                REQUIRE(run.fits(std::int64_t(window)));
                for (std::int64_t k = 0; k < run.count; ++k)
                    for (std::int64_t i = 0; i < run.bytes; ++i)
                        from_runs[std::size_t(run.offset + k * run.stride + i)] = true;
                coverage.mark(run);
            }
        }
        REQUIRE(from_runs == bytes);
        const std::size_t gap = below(random, 3) == 0 ? 0 : below(random, 40);
        std::vector<bool> covered(window);
        std::size_t last = 0;
        bool first = true;
        coverage.for_each(gap, [&](std::size_t begin, std::size_t end) {
            REQUIRE((first || begin - last > gap));
            REQUIRE((bytes[begin] && bytes[end - 1]));
            for (std::size_t i = begin; i < end; ++i) covered[i] = true;
            last = end;
            first = false;
            return true;
        });
        for (std::size_t i = 0; i < window; ++i) {
            if (bytes[i] || gap == 0) REQUIRE(covered[i] == bytes[i]);
        }
    }
}

TEST_CASE("Runs that lead out of their window are recognised", "[io]") {
    REQUIRE((Run{0, 4, 1, 0}.fits(4)));
    REQUIRE((Run{0, 4, 2, 4}.fits(8)));
    REQUIRE_FALSE((Run{1, 4, 1, 0}.fits(4)));
    REQUIRE_FALSE((Run{-1, 4, 1, 0}.fits(4)));
    REQUIRE_FALSE((Run{0, 4, 2, 5}.fits(8)));
    REQUIRE_FALSE((Run{0, 4, 2, 3}.fits(8)));
    REQUIRE_FALSE((Run{0, 4, std::int64_t(1) << 62, std::int64_t(1) << 62}.fits(8)));
    REQUIRE_FALSE((Run{0, 0, 1, 0}.fits(8)));
    REQUIRE_FALSE((Run{0, 16, 1, 0}.fits(8)));
}

TEST_CASE("The windows of all aggregators are the range, each byte once", "[io]") {
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const Offset begin = Offset(below(random, 3000)), end = begin + Offset(below(random, 3000));
        const int aggregators = 1 + int(below(random, 5));
        const std::size_t unit = 1 + below(random, 200), window = 1 + below(random, 700);
        const Domains domains(begin, end, aggregators, unit, window);
        std::vector<int> times(6000);
        for (int k = 0; k < aggregators; ++k)
            for (int round = 0; round < domains.rounds(); ++round) {
                const auto it = domains.window(k, round);
                if (!it.empty()) REQUIRE(it.bytes() <= Offset(domains.longest()));
                REQUIRE(domains.longest() <= window);
                for (Offset at = it.begin; at < it.end; ++at) ++times[std::size_t(at)];
            }
        for (Offset at = 0; at < 6000; ++at)
            REQUIRE(times[std::size_t(at)] == (at >= begin && at < end ? 1 : 0));
    }
}

// Memory of a program: one block, or scattered.
struct Memory {
    Memory(Random& random, std::size_t bytes) : bytes_(4 * bytes + 64, std::byte{0xee}) {
        if (below(random, 2) == 0 || bytes < 4) {
            buffer = {bytes_.data() + 16, bytes};
            for (std::size_t i = 0; i < bytes; ++i) places.push_back(16 + i);
            return;
        }
        const std::size_t block = 1 + below(random, 3), stride = block + below(random, 3);
        layout = std::make_unique<core::Layout>(core::Shape::block(block), stride);
        const std::size_t blocks = bytes / block;
        buffer = core::Buffer(static_cast<void*>(bytes_.data() + 16), *layout, blocks);
        for (std::size_t i = 0; i < blocks * block; ++i)
            places.push_back(16 + i / block * stride + i % block);
    }
    std::byte& operator[](std::size_t i) { return bytes_[places[i]]; }
    std::size_t size() const { return places.size(); }

    std::vector<std::byte> bytes_;
    std::unique_ptr<core::Layout> layout;
    core::Buffer buffer;
    std::vector<std::size_t> places;
};

TEST_CASE("One rank reads and writes the bytes of its view, and no others", "[io]") {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const std::size_t bytes = 1 + below(random, 2000);
        const ModelledView model = random_view(random, 2 * bytes);
        const std::size_t from = below(random, bytes);
        MemoryStore store;
        store.bytes.resize(below(random, std::size_t(model.offsets.back()) + 300));
        for (auto& byte : store.bytes) byte = std::byte(random());
        Memory memory(random, bytes);
        Hints hints;
        hints.sieve_read = below(random, 2) == 0 ? Choice::automatic : Choice::yes;
        if (below(random, 2) == 0) hints.sieve_buffer = 64;
        std::vector<std::byte> expected = store.bytes;
        if (below(random, 2) == 0) {
            for (std::size_t i = 0; i < memory.size(); ++i) {
                memory[i] = std::byte(random());
                const auto at = std::size_t(model.offsets[from + i]);
                if (expected.size() <= at) expected.resize(at + 1);
                expected[at] = memory[i];
            }
            const Outcome outcome = write(store, model.view, Offset(from), memory.buffer);
            REQUIRE(outcome.error == 0);
            REQUIRE(outcome.bytes == memory.size());
        } else {
            std::vector<std::byte> image = memory.bytes_;
            std::size_t there = 0;
            while (there < memory.size() &&
                   std::size_t(model.offsets[from + there]) < store.bytes.size()) {
                image[memory.places[there]] = store.bytes[std::size_t(model.offsets[from + there])];
                ++there;
            }
            const Outcome outcome = read(store, model.view, Offset(from), memory.buffer, hints);
            REQUIRE(outcome.error == 0);
            REQUIRE(outcome.bytes == there);
            REQUIRE(memory.bytes_ == image);
        }
        REQUIRE(store.bytes == expected);
    }
}

TEST_CASE("A view that contains bytes twice reads them twice", "[io]") {
    MemoryStore store;
    for (int i = 0; i < 30; ++i) store.bytes.push_back(std::byte(i));
    const auto tile =
        std::make_shared<const core::Layout>(core::Shape::block(8).repeated(2, 4), 10);
    REQUIRE(View::can_be(*tile, true));
    const View view(1, tile, true);
    REQUIRE(view.overlaps());
    std::vector<std::byte> memory(32);
    REQUIRE(read(store, view, 0, {memory.data(), memory.size()}, {}).bytes == 32);
    for (std::size_t i = 0; i < 32; ++i)
        REQUIRE(std::size_t(memory[i]) == 1 + i / 16 * 10 + i % 16 / 8 * 4 + i % 8);
}

TEST_CASE("Short gaps are read together with the bytes around them, by one call", "[io]") {
    MemoryStore store;
    store.bytes.resize(100000);
    const View rows(0, std::make_shared<const core::Layout>(core::Shape::block(64), 256));
    std::vector<std::byte> memory(64 * 100);
    REQUIRE(read(store, rows, 0, {memory.data(), memory.size()}, {}).bytes == memory.size());
    REQUIRE(store.calls == 1);
    Hints hints;
    REQUIRE(hints.take("romio_ds_read", "disable"));
    REQUIRE(read(store, rows, 0, {memory.data(), memory.size()}, hints).bytes == memory.size());
    REQUIRE(store.calls == 101);
}

}  // namespace torusmp::io::view_test

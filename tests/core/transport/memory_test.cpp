// SPDX-License-Identifier: BSD-3-Clause
// The requirements of core on every transport: memory that peers read and write. pairs.h has the
// list of transports.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "linked_pair.h"

namespace transport_memory_test {

using namespace torusmp::transport;
using namespace torusmp::transport::testing;

// Memory of b that a reaches, filled with `background`; from the transport itself if `allocated`,
// where it has memory to give.
struct Exposed {
    Exposed(Linked& link, std::size_t size, bool allocated)
        : background(pattern(size, 1)),
          owner(link.pair->b()),
          special(allocated ? owner.allocate(size, 64) : nullptr),
          own(special == nullptr ? size : 0),
          memory(special != nullptr ? static_cast<std::byte*>(special) : own.data()),
          remote(owner.register_memory({memory, size}, nullptr)) {
        std::copy(background.begin(), background.end(), memory);
    }
    ~Exposed() { owner.free(special); }
    Exposed(const Exposed&) = delete;
    Exposed& operator=(const Exposed&) = delete;

    // A write that has left may still be on its way.
    bool is(const std::vector<std::byte>& expected) const {
        return std::equal(expected.begin(), expected.end(), memory);
    }

    const std::vector<std::byte> background;
    Interface& owner;
    void* const special;
    std::vector<std::byte> own;
    std::byte* const memory;
    const RemoteMemory remote;
};

// It was pending, and then succeeds.
void await_transfer(Linked& link, std::uint64_t id) {
    REQUIRE(link.pump([&] { return !link.at_a.transfers.empty(); }));
    REQUIRE(link.at_a.transfers == std::vector<std::pair<std::uint64_t, bool>>{{id, true}});
}

TEST_CASE("a transport writes into and reads from a peer's exposed memory",
          "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {4});
    const bool allocated = GENERATE(false, true);
    const std::size_t size = 100'000;
    const Exposed exposed(link, size, allocated);
    const RemoteMemory& remote = exposed.remote;
    REQUIRE(remote.length == size);

    const bool write = GENERATE(true, false);
    const std::size_t offset = GENERATE(0, 1, 4097, 60'000);
    const std::size_t bytes = 40'000;
    auto local = pattern(bytes, 2);
    const bool reaches = link.a.can_ever_write(remote) ||
                         (write ? link.a.can_write(remote) : link.a.can_read(remote));
    if (!reaches) {
        REQUIRE((write ? testing::write(link.a, remote, offset, local, 5)
                       : testing::read(link.a, remote, offset, local, 5)) == Transfer::refused);
    } else {
        const Transfer how = write ? testing::write(link.a, remote, offset, local, 5)
                                   : testing::read(link.a, remote, offset, local, 5);
        if (how == Transfer::pending) await_transfer(link, 5);
        auto expected_there = exposed.background;
        auto expected_here = pattern(bytes, 2);
        if (how != Transfer::refused) {
            if (write)
                std::copy(expected_here.begin(), expected_here.end(),
                          expected_there.begin() + std::ptrdiff_t(offset));
            else
                std::copy_n(exposed.background.begin() + std::ptrdiff_t(offset), bytes,
                            expected_here.begin());
        }
        REQUIRE(link.pump([&] { return exposed.is(expected_there); }));
        link.settle();
        REQUIRE(exposed.is(expected_there));
        REQUIRE(local == expected_here);
        REQUIRE(link.at_a.transfers.size() == (how == Transfer::pending ? 1u : 0u));
    }
    REQUIRE(link.at_b.transfers.empty());
}

TEST_CASE("a transport that gathers and scatters does the same as one write or read",
          "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {4});
    const bool allocated = GENERATE(false, true);
    const bool write = GENERATE(true, false);
    const std::size_t size = 400'000;
    const Exposed exposed(link, size, allocated);
    const RemoteMemory& remote = exposed.remote;

    // Pieces of several sizes with holes between them; one frame's worth and more.
    auto local = pattern(size, 2);
    std::vector<Bytes> pieces;
    std::size_t bytes = 0;
    for (std::size_t i = 0, at = 5; i < link.a.can().most_pieces; ++i) {
        const std::size_t length = i % 5 == 3 ? 20'000 : 1 + i * 7;
        if (at + length > size) break;
        pieces.push_back({local.data() + at, length});
        at += length + 3;
        bytes += length;
    }
    const std::size_t offset = 1001;
    Transfer how = Transfer::refused;
    if (write && link.a.can_write(remote)) {
        const std::vector<ConstBytes> from(pieces.begin(), pieces.end());
        how = link.a.write(remote, offset, from, 5, std::nullopt);
        REQUIRE((how != Transfer::refused || pieces.empty()));
        REQUIRE(link.a.write(remote, size - bytes + 1, from, 6, std::nullopt) == Transfer::refused);
    } else if (!write && link.a.can_read(remote)) {
        how = link.a.read(remote, offset, pieces, 5);
        REQUIRE(how != Transfer::pending);
    }
    if (how == Transfer::pending) await_transfer(link, 5);
    auto expected_there = exposed.background;
    auto expected_here = pattern(size, 2);
    auto place = std::ptrdiff_t(offset);
    for (const Bytes& piece : pieces) {
        const std::ptrdiff_t at = piece.data() - local.data();
        const auto length = std::ptrdiff_t(piece.size());
        if (how != Transfer::refused && write)
            std::copy_n(expected_here.begin() + at, length, expected_there.begin() + place);
        if (how != Transfer::refused && !write)
            std::copy_n(exposed.background.begin() + place, length, expected_here.begin() + at);
        place += length;
    }
    REQUIRE(link.pump([&] { return exposed.is(expected_there); }));
    link.settle();
    REQUIRE(exposed.is(expected_there));
    REQUIRE(local == expected_here);
}

TEST_CASE("a transport distinguishes writes and packets of all lengths", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {4});
    // Around what is read beside a write, a slot, a piece of a write, and many pieces.
    const std::vector<std::size_t> sizes{
        1, 40, 471, 472, 473, 512, 4096, contract_slot_bytes, 131'072, 131'073, 700'000};
    const std::size_t size = 3'000'000;
    const Exposed exposed(link, size, false);
    if (!link.a.can_write(exposed.remote)) return;
    auto expected = exposed.background;
    std::uint32_t number = 0;
    for (std::size_t round = 0; round < 3 * sizes.size(); ++round) {
        CAPTURE(round);
        std::vector<std::vector<std::byte>> sent;  // stays until all writes are done
        std::size_t at = round;
        link.at_b.packets.clear();
        link.at_b.notices.clear();
        link.at_a.transfers.clear();
        std::size_t pending = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            const std::size_t bytes = sizes[(round * (i + 1) + i) % sizes.size()];
            sent.push_back(pattern(bytes, 10 * round + i));
            const bool last = i == 3;
            const Transfer how = testing::write(
                link.a, exposed.remote, at, sent.back(), i,
                last && link.a.can().notifies ? std::optional<std::uint64_t>(round) : std::nullopt);
            REQUIRE(how != Transfer::refused);
            pending += how == Transfer::pending ? 1 : 0;
            std::copy(sent.back().begin(), sent.back().end(),
                      expected.begin() + std::ptrdiff_t(at));
            at += bytes + 1;
            const std::size_t length =
                std::min(sizes[(round + i) % sizes.size()], contract_slot_bytes);
            if (i % 2 != round % 2) continue;
            link.a.send(header_of(0, number, length), pattern(length, number));
            ++number;
        }
        REQUIRE(link.pump([&] {
            return link.at_a.transfers.size() == pending && link.at_b.packets.size() == 2 &&
                   (!link.a.can().notifies || !link.at_b.notices.empty()) && exposed.is(expected);
        }));
        link.b.grant(2 * credit_of(0));
        REQUIRE(link.pump([&] { return credits_in(link.a.collect_grants(), 0) == 2; }));
        for (std::size_t i = 0; i < 2; ++i) {
            const Seen& seen = link.at_b.packets[i];
            const std::uint32_t its = number - 2 + std::uint32_t(i);
            REQUIRE(same_header(seen.header, header_of(0, its, seen.payload.size())));
            REQUIRE(seen.payload == pattern(seen.payload.size(), its));
        }
    }
    REQUIRE(link.at_b.downs.empty());
}

TEST_CASE("a transport maps a peer's memory only if stores to it arrive", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {4});
    std::vector<std::byte> own(5000);
    auto* const shared = static_cast<std::byte*>(link.pair->b().allocate(5000, 64));
    for (std::byte* const memory : {own.data(), shared}) {
        if (memory == nullptr) continue;
        const RemoteMemory remote = link.pair->b().register_memory({memory, 5000}, nullptr);
        REQUIRE(link.a.map(remote, 1, 5000) == nullptr);
        REQUIRE(link.a.map(remote, 5001, 0) == nullptr);
        std::byte* const place = link.a.map(remote, 1000, 4000);
        if (place == nullptr) continue;
        *place = std::byte{0x5a};
        link.settle();
        REQUIRE(memory[1000] == std::byte{0x5a});
    }
    link.pair->b().free(shared);
}

TEST_CASE("a transport refuses remote access outside what the peer exposed",
          "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {4});
    std::vector<std::byte> memory(5000, std::byte{1});
    std::vector<std::byte> local(1000, std::byte{2});
    const RemoteMemory remote =
        link.pair->b().register_memory({memory.data() + 1000, 3000}, nullptr);
    struct Case {
        std::size_t offset;
        std::size_t bytes;
    };
    for (const Case& it : {Case{2001, 1000}, Case{3000, 1}, Case{3001, 0}, Case{~std::size_t{0}, 1},
                           Case{~std::size_t{0} - 500, 1000}}) {
        CAPTURE(it.offset, it.bytes);
        REQUIRE(testing::write(link.a, remote, it.offset, {local.data(), it.bytes}, 1) ==
                Transfer::refused);
        REQUIRE(testing::read(link.a, remote, it.offset, {local.data(), it.bytes}, 1) ==
                Transfer::refused);
    }
    link.settle();
    REQUIRE(memory == std::vector<std::byte>(5000, std::byte{1}));
    REQUIRE(local == std::vector<std::byte>(1000, std::byte{2}));
}

TEST_CASE("a transport's memory is aligned and separate, and can be freed",
          "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    const auto pair = maker.make({port(0, {2})}, {port(0, {2})});
    std::vector<std::pair<std::byte*, std::size_t>> blocks;
    for (const std::size_t alignment : {8u, 64u, 4096u})
        for (const std::size_t bytes : {1u, 100u, 70'000u}) {
            void* memory = pair->a().allocate(bytes, alignment);
            if (memory == nullptr) continue;  // no more; that is allowed
            REQUIRE(reinterpret_cast<std::uintptr_t>(memory) % alignment == 0);
            std::memset(memory, int(blocks.size() + 1), bytes);
            blocks.emplace_back(static_cast<std::byte*>(memory), bytes);
        }
    for (std::size_t i = 0; i < blocks.size(); ++i)
        REQUIRE(std::all_of(blocks[i].first, blocks[i].first + blocks[i].second,
                            [&](std::byte b) { return b == std::byte(i + 1); }));
    for (const auto& [memory, bytes] : blocks) pair->a().free(memory);
    pair->a().free(nullptr);
}

}  // namespace transport_memory_test

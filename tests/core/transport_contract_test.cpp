// What core relies on, required of every transport: see transport_pairs.h for the list.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "recorder.h"
#include "transport_pairs.h"

using namespace torusmp::transport;
using namespace torusmp::transport::testing;

namespace {

constexpr int turns_enough = 200'000;
constexpr std::size_t slot_bytes = 16384;

PortOptions port(std::uint32_t number, std::vector<int> tokens) {
    PortOptions options;
    options.port = number;
    options.classes = int(tokens.size());
    options.slot_bytes = slot_bytes;
    for (std::size_t c = 0; c < tokens.size(); ++c) options.tokens[c] = std::uint8_t(tokens[c]);
    return options;
}

// A pair with one link, port 4 of a to port 9 of b, connected from both sides.
struct Linked {
    Linked(const PairMaker& maker, std::vector<int> tokens)
        : pair(maker.make({port(4, tokens)}, {port(9, tokens)})),
          a(pair->a().connect(pair->b().address(), {4, 9})),
          b(pair->b().connect(pair->a().address(), {9, 4})) {}

    template <class Done>
    bool pump(Done&& done) {
        for (int turn = 0; turn < turns_enough; ++turn) {
            if (done()) return true;
            pair->pass_time();
            pair->a().poll(at_a);
            pair->b().poll(at_b);
        }
        return done();
    }
    // Long enough for anything under way, where nothing tells that it has arrived.
    void settle() {
        for (int turn = 0; turn < 200; ++turn) {
            pair->pass_time();
            pair->a().poll(at_a);
            pair->b().poll(at_b);
        }
    }

    const std::unique_ptr<Pair> pair;
    Channel& a;
    Channel& b;
    Recorder at_a;
    Recorder at_b;
};

}  // namespace

TEST_CASE("a transport delivers the packets of a class in order and unchanged", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {5});
    unsigned tokens = 5;
    std::uint32_t sent = 0;
    const std::uint32_t total = 300;
    const auto size_of = [](std::uint32_t n) -> std::size_t {
        if (n % 7 == 0) return 0;
        return n % 11 == 0 ? slot_bytes : (n * 37u) % 2000u;
    };
    std::size_t granted = 0;
    REQUIRE(link.pump([&] {
        for (; granted < link.at_b.packets.size(); ++granted) link.b.grant(token_of(0));
        tokens += tokens_in(link.a.collect_grants(), 0);
        while (tokens > 0 && sent < total) {
            const auto payload = pattern(size_of(sent), sent);
            link.a.send(header_of(0, sent, payload.size()), payload);
            ++sent;
            --tokens;
        }
        return link.at_b.packets.size() == total && tokens == 5;
    }));
    for (std::uint32_t n = 0; n < total; ++n) {
        const Seen& seen = link.at_b.packets[n];
        REQUIRE(seen.channel == &link.b);
        REQUIRE(same_header(seen.header, header_of(0, n, size_of(n))));
        REQUIRE(seen.payload == pattern(size_of(n), n));
    }
    REQUIRE(link.at_a.packets.empty());
    REQUIRE(link.at_a.downs.empty());
    REQUIRE(link.at_b.downs.empty());
}

TEST_CASE("a transport has a slot for each token of each class, both ways", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    const std::vector<int> tokens{max_tokens, 2, 3};
    Linked link(maker, tokens);
    for (int c = 0; c < 3; ++c)
        for (int n = 0; n < tokens[std::size_t(c)]; ++n) {
            const auto payload = pattern(slot_bytes / 4, std::uint64_t(1000 * c + n));
            link.a.send(header_of(c, std::uint32_t(n), payload.size()), payload);
            link.b.send(header_of(c, std::uint32_t(n), payload.size()), payload);
        }
    REQUIRE(link.pump([&] {
        return link.at_a.packets.size() == max_tokens + 5 &&
               link.at_b.packets.size() == max_tokens + 5;
    }));
    for (const Recorder* at : {&link.at_a, &link.at_b}) {
        std::uint32_t next[3] = {0, 0, 0};
        for (const Seen& seen : at->packets) {
            const int c = seen.header.slot_class;
            REQUIRE(seen.header.sequence == next[c]++);
            REQUIRE(seen.payload ==
                    pattern(slot_bytes / 4, std::uint64_t(1000 * c) + seen.header.sequence));
        }
    }
}

TEST_CASE("a transport offers a held packet again and nothing behind it in its class", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {4, 4});
    bool hold = true;
    int offers_of_first = 0;
    link.at_b.decide = [&](const PacketHeader& header) {
        if (header.slot_class != 1) return Verdict::taken;
        if (hold) {
            REQUIRE(header.sequence == 10);
            ++offers_of_first;
        }
        return hold ? Verdict::held : Verdict::taken;
    };
    const auto payload = pattern(300, 10);
    link.a.send(header_of(1, 10, 300), payload);
    link.a.send(header_of(1, 11, 0), {});
    link.a.send(header_of(0, 1, 0), {});
    link.a.send(header_of(1, 12, 0), {});
    link.a.send(header_of(0, 2, 0), {});

    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 2 && offers_of_first >= 3; }));
    link.settle();
    REQUIRE(link.at_b.packets.size() == 2);
    REQUIRE(link.at_b.packets[0].header.sequence == 1);
    REQUIRE(link.at_b.packets[1].header.sequence == 2);

    SECTION("each poll offers it once") {
        const int before = offers_of_first;
        link.pair->b().poll(link.at_b);
        REQUIRE(offers_of_first == before + 1);
    }
    hold = false;
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 5; }));
    for (std::uint32_t n = 0; n < 3; ++n)
        REQUIRE(link.at_b.packets[2 + n].header.sequence == 10 + n);
    REQUIRE(link.at_b.packets[2].payload == payload);
}

TEST_CASE("a transport's poll says how many packets were taken", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {8});
    REQUIRE(link.pair->b().poll(link.at_b) == 0);
    int taken = 0;
    for (std::uint32_t n = 0; n < 8; ++n) link.a.send(header_of(0, n, 0), {});
    bool hold = true;
    link.at_b.decide = [&](const PacketHeader&) { return hold ? Verdict::held : Verdict::taken; };
    for (int turn = 0; turn < 200; ++turn) {
        link.pair->pass_time();
        link.pair->a().poll(link.at_a);
        REQUIRE(link.pair->b().poll(link.at_b) == 0);
    }
    REQUIRE(link.at_b.offered > 0);
    hold = false;
    for (int turn = 0; turn < turns_enough && taken < 8; ++turn) {
        link.pair->pass_time();
        link.pair->a().poll(link.at_a);
        taken += link.pair->b().poll(link.at_b);
    }
    REQUIRE(taken == 8);
    REQUIRE(link.at_b.packets.size() == 8);
}

TEST_CASE("a transport brings home every token given back without a packet", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {40, 30});
    for (std::uint32_t n = 0; n < 70; ++n) link.a.send(header_of(n < 40 ? 0 : 1, n, 0), {});
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 70; }));
    REQUIRE(link.a.collect_grants() == 0);
    unsigned back[2] = {0, 0};
    const auto collect = [&] {
        const TokenWord word = link.a.collect_grants();
        back[0] += tokens_in(word, 0);
        back[1] += tokens_in(word, 1);
        return back[0] == 40 && back[1] == 30;
    };
    link.b.grant(7 * token_of(0));
    link.b.grant(30 * token_of(1) + 13 * token_of(0));
    link.b.grant(19 * token_of(0));
    link.b.grant(token_of(0));
    REQUIRE(link.pump(collect));
    link.settle();
    collect();
    REQUIRE(back[0] == 40);
    REQUIRE(back[1] == 30);
    REQUIRE(link.b.collect_grants() == 0);
}

TEST_CASE("a transport sends what was packed into a reserved slot", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {6, 6});
    for (std::uint32_t n = 0; n < 6; ++n) {
        const std::size_t bytes = n == 5 ? slot_bytes : n * 100;
        const auto payload = pattern(bytes, n);
        const int slot_class = int(n % 2);
        std::byte* room = link.a.reserve(slot_class, bytes);
        REQUIRE(room != nullptr);
        std::copy(payload.begin(), payload.end(), room);
        link.a.commit(header_of(slot_class, n, bytes));
        if (n < 5) link.a.send(header_of(slot_class, 100 + n, bytes), payload);
    }
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 11; }));
    for (int c = 0; c < 2; ++c) {
        std::vector<std::uint32_t> order;
        for (const Seen& seen : link.at_b.packets) {
            REQUIRE(seen.payload == pattern(seen.payload.size(), seen.header.sequence % 100));
            if (seen.header.slot_class == c) order.push_back(seen.header.sequence);
        }
        const std::vector<std::uint32_t> even{0, 100, 2, 102, 4, 104};
        const std::vector<std::uint32_t> odd{1, 101, 3, 103, 5};
        REQUIRE(order == (c == 0 ? even : odd));
    }
}

TEST_CASE("a transport sends a payload in two parts as if it were one", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {8});
    const std::vector<std::pair<std::size_t, std::size_t>> sizes{
        {32, slot_bytes - 32}, {0, 5000}, {32, 0}, {1, 1}, {100, 4000}, {0, 0}};
    for (std::uint32_t n = 0; n < sizes.size(); ++n) {
        auto front = pattern(sizes[n].first, 2 * n);
        auto part = pattern(sizes[n].second, 2 * n + 1);
        link.a.send_parts(header_of(0, n, front.size() + part.size()), front, part);
        std::fill(front.begin(), front.end(), std::byte{0xee});
        std::fill(part.begin(), part.end(), std::byte{0xee});
    }
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == sizes.size(); }));
    for (std::uint32_t n = 0; n < sizes.size(); ++n) {
        auto expected = pattern(sizes[n].first, 2 * n);
        const auto part = pattern(sizes[n].second, 2 * n + 1);
        expected.insert(expected.end(), part.begin(), part.end());
        CHECK(link.at_b.packets[n].header.sequence == n);
        CHECK(link.at_b.packets[n].payload == expected);
    }
    CHECK(link.at_b.downs.empty());
}

TEST_CASE("a transport lets the payload be reused as soon as send returns", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {4});
    auto payload = pattern(3000, 1);
    link.a.send(header_of(0, 0, payload.size()), payload);
    std::fill(payload.begin(), payload.end(), std::byte{0xee});
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 1; }));
    REQUIRE(link.at_b.packets[0].payload == pattern(3000, 1));
}

TEST_CASE("a transport writes into and reads from a peer's exposed memory", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {4});
    const bool allocated = GENERATE(false, true);
    const std::size_t size = 100'000;
    std::vector<std::byte> own;
    void* special = allocated ? link.pair->b().allocate(size, 64) : nullptr;
    if (special == nullptr) own.resize(size);
    std::byte* const memory = special != nullptr ? static_cast<std::byte*>(special) : own.data();
    const auto background = pattern(size, 1);
    std::copy(background.begin(), background.end(), memory);
    const RemoteMemory remote = link.pair->b().expose({memory, size}, nullptr);
    REQUIRE(remote.length == size);

    const bool write = GENERATE(true, false);
    const std::size_t offset = GENERATE(0, 1, 4097, 60'000);
    const std::size_t bytes = 40'000;
    auto local = pattern(bytes, 2);
    if (!(write ? link.a.can_write(remote) : link.a.can_read(remote))) {
        REQUIRE((write ? testing::write(link.a, remote, offset, local, 5)
                       : testing::read(link.a, remote, offset, local, 5)) == Transfer::refused);
    } else {
        const Transfer how = write ? testing::write(link.a, remote, offset, local, 5)
                                   : testing::read(link.a, remote, offset, local, 5);
        if (how == Transfer::pending) {
            REQUIRE(link.pump([&] { return !link.at_a.transfers.empty(); }));
            REQUIRE(link.at_a.transfers == std::vector<std::pair<std::uint64_t, bool>>{{5, true}});
        }
        auto expected_there = background;
        auto expected_here = pattern(bytes, 2);
        if (how != Transfer::refused) {
            if (write)
                std::copy(expected_here.begin(), expected_here.end(),
                          expected_there.begin() + std::ptrdiff_t(offset));
            else
                std::copy_n(background.begin() + std::ptrdiff_t(offset), bytes,
                            expected_here.begin());
        }
        link.settle();
        REQUIRE(std::equal(expected_there.begin(), expected_there.end(), memory));
        REQUIRE(local == expected_here);
        REQUIRE(link.at_a.transfers.size() == (how == Transfer::pending ? 1u : 0u));
    }
    REQUIRE(link.at_b.transfers.empty());
    link.pair->b().free(special);
}

TEST_CASE("a transport gathers and scatters, where it does, as one write or read would", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {4});
    const bool allocated = GENERATE(false, true);
    const bool write = GENERATE(true, false);
    const std::size_t size = 400'000;
    std::vector<std::byte> own;
    void* special = allocated ? link.pair->b().allocate(size, 64) : nullptr;
    if (special == nullptr) own.resize(size);
    std::byte* const memory = special != nullptr ? static_cast<std::byte*>(special) : own.data();
    const auto background = pattern(size, 1);
    std::copy(background.begin(), background.end(), memory);
    const RemoteMemory remote = link.pair->b().expose({memory, size}, nullptr);

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
    if (how == Transfer::pending) {
        REQUIRE(link.pump([&] { return !link.at_a.transfers.empty(); }));
        REQUIRE(link.at_a.transfers == std::vector<std::pair<std::uint64_t, bool>>{{5, true}});
    }
    link.settle();
    auto expected_there = background;
    auto expected_here = pattern(size, 2);
    auto place = std::ptrdiff_t(offset);
    for (const Bytes& piece : pieces) {
        const std::ptrdiff_t at = piece.data() - local.data();
        const auto length = std::ptrdiff_t(piece.size());
        if (how != Transfer::refused && write)
            std::copy_n(expected_here.begin() + at, length, expected_there.begin() + place);
        if (how != Transfer::refused && !write)
            std::copy_n(background.begin() + place, length, expected_here.begin() + at);
        place += length;
    }
    REQUIRE(std::equal(expected_there.begin(), expected_there.end(), memory));
    REQUIRE(local == expected_here);
    link.pair->b().free(special);
}

TEST_CASE("a transport maps a peer's memory only where stores to it arrive", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {4});
    std::vector<std::byte> own(5000);
    auto* const shared = static_cast<std::byte*>(link.pair->b().allocate(5000, 64));
    for (std::byte* const memory : {own.data(), shared}) {
        if (memory == nullptr) continue;
        const RemoteMemory remote = link.pair->b().expose({memory, 5000}, nullptr);
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

TEST_CASE("a transport refuses remote access outside what the peer exposed", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {4});
    std::vector<std::byte> memory(5000, std::byte{1});
    std::vector<std::byte> local(1000, std::byte{2});
    const RemoteMemory remote = link.pair->b().expose({memory.data() + 1000, 3000}, nullptr);
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

TEST_CASE("a transport connects when both ends have come, however late one of them is", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    const auto pair = maker.make({port(4, {3})}, {port(9, {3})});
    const bool a_is_late = GENERATE(false, true);
    Interface& early = a_is_late ? pair->b() : pair->a();
    Interface& late = a_is_late ? pair->a() : pair->b();
    const std::uint32_t early_port = a_is_late ? 9 : 4;
    const std::uint32_t late_port = a_is_late ? 4 : 9;
    Channel& from_early = early.connect(late.address(), {early_port, late_port, true});
    const auto payload = pattern(500, 4);
    from_early.send(header_of(0, 1, 500), payload);
    Recorder at_early;
    Recorder at_late;
    for (int turn = 0; turn < 1000; ++turn) {
        pair->pass_time();
        early.poll(at_early);
    }
    Channel& from_late = late.connect(early.address(), {late_port, early_port, true});
    for (int turn = 0; turn < turns_enough && at_late.packets.empty(); ++turn) {
        pair->pass_time();
        early.poll(at_early);
        late.poll(at_late);
    }
    REQUIRE(at_late.packets.size() == 1);
    CHECK(at_late.packets[0].payload == payload);
    CHECK_FALSE(from_early.connecting());
    CHECK_FALSE(from_late.connecting());
    CHECK(at_early.downs.empty());
    CHECK(at_late.downs.empty());
}

TEST_CASE("core may close a channel while it looks at a packet that was held", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {64});  // so many slots that their memory is one that the system takes back
    const auto payload = pattern(slot_bytes, 5);
    link.at_b.decide = [](const PacketHeader&) { return Verdict::held; };
    for (std::uint32_t n = 0; n < 3; ++n) link.a.send(header_of(0, n, slot_bytes), payload);
    REQUIRE(link.pump([&] { return link.at_b.offered > 2; }));
    link.at_b.decide = [&](const PacketHeader&) {
        link.b.close("enough");
        return Verdict::taken;
    };
    REQUIRE(link.pump([&] { return !link.at_b.packets.empty(); }));
    link.settle();  // what still comes, if anything, is core's to drop
    CHECK(link.at_b.packets[0].payload == payload);
    CHECK(link.at_b.downs.empty());
}

TEST_CASE("a transport announces a peer's connection to a port that nobody connected", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    const auto pair = maker.make({port(0, {3}), port(1, {3})}, {port(5, {3}), port(6, {3})});
    Channel& early = pair->a().connect(pair->b().address(), {0, 5});
    const auto payload = pattern(500, 3);
    for (std::uint32_t n = 0; n < 3; ++n) early.send(header_of(0, n, 500), payload);

    Recorder at_a;  // polled too: where connecting is a conversation, both ends talk
    Recorder at_b;
    Channel* late = nullptr;
    const bool connect_inside = GENERATE(true, false);
    if (connect_inside)
        at_b.connect = [&](std::uint32_t number) {
            late = &pair->b().connect(pair->a().address(), {number, 0});
        };
    for (int turn = 0; turn < turns_enough && at_b.connects.empty(); ++turn) {
        pair->pass_time();
        pair->a().poll(at_a);
        pair->b().poll(at_b);
    }
    REQUIRE(at_b.connects == std::vector<std::uint32_t>{5});
    REQUIRE(at_b.packets.empty());
    if (!connect_inside) late = &pair->b().connect(pair->a().address(), {5, 0});
    for (int turn = 0; turn < turns_enough && at_b.packets.size() < 3; ++turn) {
        pair->pass_time();
        pair->a().poll(at_a);
        pair->b().poll(at_b);
    }
    REQUIRE(at_b.packets.size() == 3);
    for (std::uint32_t n = 0; n < 3; ++n) {
        REQUIRE(at_b.packets[n].channel == late);
        REQUIRE(at_b.packets[n].header.sequence == n);
        REQUIRE(at_b.packets[n].payload == payload);
    }
    // And back, over the channel that the announcement brought about.
    late->send(header_of(0, 42, 0), {});
    for (int turn = 0; turn < turns_enough && at_a.packets.empty(); ++turn) {
        pair->pass_time();
        pair->a().poll(at_a);
        pair->b().poll(at_b);
    }
    REQUIRE(at_a.packets.size() == 1);
    REQUIRE(at_a.packets[0].channel == &early);
    REQUIRE(at_a.connects.empty());
    REQUIRE(at_b.connects.size() == 1);
}

TEST_CASE("a transport keeps two links between the same two processes apart", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    const auto pair = maker.make({port(0, {2}), port(1, {2})}, {port(0, {2}), port(1, {2})});
    Channel& a_plus = pair->a().connect(pair->b().address(), {0, 1});
    Channel& a_minus = pair->a().connect(pair->b().address(), {1, 0});
    Channel& b_plus = pair->b().connect(pair->a().address(), {0, 1});
    Channel& b_minus = pair->b().connect(pair->a().address(), {1, 0});
    a_plus.send(header_of(0, 1, 0), {});
    a_minus.send(header_of(0, 2, 0), {});
    a_plus.send(header_of(0, 3, 0), {});
    a_minus.send(header_of(0, 4, 0), {});
    b_plus.send(header_of(0, 5, 0), {});
    Recorder at_a;
    Recorder at_b;
    for (int turn = 0; turn < turns_enough && at_a.packets.size() + at_b.packets.size() < 5;
         ++turn) {
        pair->pass_time();
        pair->a().poll(at_a);
        pair->b().poll(at_b);
    }
    REQUIRE(at_b.packets.size() == 4);
    for (const Seen& seen : at_b.packets)
        REQUIRE(seen.channel == (seen.header.sequence % 2 == 1 ? &b_minus : &b_plus));
    REQUIRE(at_a.packets.size() == 1);
    REQUIRE(at_a.packets[0].channel == &a_minus);
    REQUIRE(a_plus.owner == nullptr);
}

TEST_CASE("a transport refuses to connect to an address that is none", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    const auto pair = maker.make({port(0, {2})}, {port(0, {2})});
    auto address = pair->b().address();
    SECTION("empty") {
        address.clear();
    }
    SECTION("cut short") {
        address.pop_back();
    }
    SECTION("noise") {
        address = pattern(address.size(), 4);
    }
    REQUIRE_THROWS_AS(pair->a().connect(address, {0, 0}), std::runtime_error);
}

TEST_CASE("a transport's memory is aligned, separate and may be given back", "[transport][contract]") {
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

TEST_CASE("a transport's sleep ends when it was woken before", "[transport][contract]") {
    const PairMaker maker = GENERATE(from_range(pair_makers()));
    INFO(maker.name);
    Linked link(maker, {2});
    link.settle();
    // A sleep that misses the wake-up ends only at the deadline, and fails the clock check.
    const auto deadline = Clock::now() + std::chrono::seconds(20);
    link.pair->b().prepare_sleep();
    link.pair->b().wake();
    REQUIRE(link.pair->b().poll(link.at_b) == 0);
    link.pair->b().sleep(deadline);
    REQUIRE(Clock::now() < deadline);

    link.pair->b().prepare_sleep();
    link.a.send(header_of(0, 1, 0), {});
    link.pair->b().sleep(deadline);
    REQUIRE(Clock::now() < deadline);
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 1; }));

    link.pair->b().prepare_sleep();
    link.pair->b().cancel_sleep();
    link.a.send(header_of(0, 2, 0), {});
    REQUIRE(link.pump([&] { return link.at_b.packets.size() == 2; }));
}

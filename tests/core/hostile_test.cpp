// SPDX-License-Identifier: BSD-3-Clause
// Packets from an attacker: whatever they contain, no rank crashes, no byte outside of buffers is
// written, the messages of others arrive, and every request with the attacker ends.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "core/packets.h"
#include "hostile.h"

using namespace torusmp::core;
using namespace torusmp::core::testing;
using torusmp::transport::PacketHeader;
using torusmp::transport::sim::Random;

namespace hostile_test {
namespace {

std::string hex(const std::vector<std::uint8_t>& bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

PacketHeader from_enemy(PacketKind kind) {
    PacketHeader header{};
    header.kind = std::uint8_t(kind);
    header.source = 1;
    header.destination = 0;
    return header;
}

template <class Body>
std::vector<std::byte> bytes_of(const Body& body) {
    std::vector<std::byte> bytes(sizeof body);
    std::memcpy(bytes.data(), &body, sizeof body);
    return bytes;
}

Outcome attack_with(std::uint8_t scene, const std::vector<Forged>& packets) {
    const auto input = attack_of(scene, packets);
    return attack(input.data(), input.size());
}

constexpr std::uint32_t first_id = 1u << 20;

}  // namespace

TEST_CASE("random bytes from a neighbour do not harm other ranks", "[core][hostile]") {
    Random random(1);
    for (int n = 0; n < 300; ++n) {
        std::vector<std::uint8_t> input(std::size_t(random.below(600)));
        for (auto& byte : input) byte = std::uint8_t(random.below(3) == 0 ? random.next() : 0);
        const Outcome outcome = attack(input.data(), input.size());
        INFO(hex(input) << "\n" << outcome.log);
        REQUIRE(outcome.broken == "");
    }
}

TEST_CASE("plausible packets from a neighbour do not harm other ranks", "[core][hostile]") {
    const char* wanted = std::getenv("HOSTILE_ATTACKS");
    const int attacks = wanted != nullptr ? std::atoi(wanted) : 1500;
    for (int n = 0; n < attacks; ++n) {
        Random random(std::uint64_t(n) * 7919);
        const auto input = plausible_attack(random);
        const Outcome outcome = attack(input.data(), input.size());
        INFO("attack " << n << ": " << hex(input) << "\n" << outcome.log);
        REQUIRE(outcome.broken == "");
    }
}

TEST_CASE("a packet that breaks the protocol closes the connection with the reason",
          "[core][hostile]") {
    const auto closed = [](std::uint8_t scene, PacketHeader header,
                           std::vector<std::byte> payload = {}) {
        const Outcome outcome = attack_with(scene, {{header, std::move(payload)}});
        INFO(outcome.log);
        CHECK(outcome.broken == "");
        return outcome.closed;
    };
    SECTION("no kind, and unknown kinds") {
        REQUIRE(closed(0, from_enemy(PacketKind::none)));
        REQUIRE(closed(0, from_enemy(PacketKind(200))));
    }
    SECTION("bodies that are too short") {
        for (int kind = int(PacketKind::rts); kind <= int(PacketKind::last_kind); ++kind) {
            // Messages, and notes, which mean something to their readers alone; and revocations,
            // which have no body.
            if (PacketKind(kind) == PacketKind::flow_eager) continue;
            if (PacketKind(kind) == PacketKind::note) continue;
            if (PacketKind(kind) == PacketKind::revoke) continue;
            CAPTURE(kind);
            REQUIRE(closed(0x7f, from_enemy(PacketKind(kind))));
        }
    }
    SECTION("a virtual channel that the link does not have") {
        PacketHeader header = from_enemy(PacketKind::eager);
        header.virtual_channel = 1;
        REQUIRE(closed(0, header));
        header.virtual_channel = 255;
        REQUIRE(closed(0, header));
    }
    SECTION("ranks that do not exist") {
        PacketHeader header = from_enemy(PacketKind::eager);
        header.destination = 4;
        REQUIRE(closed(0, header));
        header.destination = 0;
        header.source = 0xffffffff;
        REQUIRE(closed(0, header));
    }
    SECTION("more credits than were taken") {
        PacketHeader header = from_enemy(PacketKind::eager);
        header.grants = 120;
        REQUIRE(closed(0, header));
        header.grants = ~0ull;
        REQUIRE(closed(0, header));
        // Some were taken, but links return them apart from packets, and count what they return.
        header.grants = 1;
        REQUIRE(closed(4, header));
    }
    SECTION("more parts than the message has") {
        const PacketHeader written = from_enemy(PacketKind::written);
        const auto body = bytes_of(WrittenBody{first_id, 1});
        const Outcome outcome = attack_with(4, {{written, body}, {written, body}});
        INFO(outcome.log);
        REQUIRE(outcome.broken == "");
        REQUIRE(outcome.closed);
    }
    SECTION("a sequence number outside the window") {
        PacketHeader header = from_enemy(PacketKind::eager);
        header.sequence = 0x80000000u;
        REQUIRE(closed(0, header));
    }
    SECTION("an invalid tag") {
        PacketHeader header = from_enemy(PacketKind::eager);
        header.tag = -1;
        REQUIRE(closed(0x40, header));
    }
    SECTION("an eager message longer than the limit") {
        REQUIRE(closed(0x40, from_enemy(PacketKind::eager), std::vector<std::byte>(257)));
    }
    SECTION("ids that were never assigned") {
        REQUIRE(closed(0, from_enemy(PacketKind::cts), bytes_of(CtsBody{77, 1, 0, 0, {}})));
        REQUIRE(closed(0, from_enemy(PacketKind::fin), bytes_of(SendHandleBody{0, 0})));
        REQUIRE(closed(0, from_enemy(PacketKind::written), bytes_of(WrittenBody{0, 0})));
        REQUIRE(closed(0, from_enemy(PacketKind::matched), bytes_of(MatchedBody{3, 1, 5})));
        REQUIRE(closed(0, from_enemy(PacketKind::data), bytes_of(DataBody{9, 0, 0})));
    }
    SECTION("a refusal of announcements that is not the next one") {
        REQUIRE(closed(0, from_enemy(PacketKind::refuse), bytes_of(EpochBody{7, 0})));
        REQUIRE(closed(0, from_enemy(PacketKind::refuse), bytes_of(EpochBody{0, 0})));
    }
    SECTION("data past the end of a receive handle") {
        PacketHeader matched = from_enemy(PacketKind::matched);
        const auto body = bytes_of(MatchedBody{first_id, 0, 900});
        const std::uint32_t placed = GENERATE(0u, 8u);  // 8: it says that the bytes are there
        for (const std::uint64_t offset :
             {std::uint64_t{897}, std::uint64_t{1u << 20}, ~std::uint64_t{0}}) {
            auto data = bytes_of(DataBody{first_id, placed, offset});
            if (placed == 0) data.resize(data.size() + 8, std::byte{0xaa});
            const Outcome outcome =
                attack_with(4, {{matched, body}, {from_enemy(PacketKind::data), data}});
            INFO(outcome.log);
            REQUIRE(outcome.broken == "");
            REQUIRE(outcome.closed);
        }
    }
    SECTION("a matched message longer than the receive") {
        REQUIRE(
            closed(4, from_enemy(PacketKind::matched), bytes_of(MatchedBody{first_id, 1, 1001})));
        REQUIRE(
            closed(4, from_enemy(PacketKind::matched), bytes_of(MatchedBody{first_id, 0, ~0ull})));
    }
    SECTION("a match with more bytes than its message, or than are left") {
        const auto match = [](std::uint32_t whole, std::uint64_t of, std::size_t behind) {
            auto body = bytes_of(MatchedBody{first_id, whole, of});
            body.resize(body.size() + behind, std::byte{0xaa});
            return body;
        };
        REQUIRE(closed(4, from_enemy(PacketKind::matched), match(0, 7, 8)));
        REQUIRE(closed(4, from_enemy(PacketKind::matched), match(1, 8, 8)));
        PacketHeader matched = from_enemy(PacketKind::matched);
        matched.sequence = 0;
        auto data = bytes_of(DataBody{first_id, 0, 0});
        data.resize(data.size() + 100, std::byte{0xaa});
        REQUIRE(attack_with(4, {{from_enemy(PacketKind::data), data}, {matched, match(0, 150, 60)}})
                    .closed);
    }
    SECTION("a dead link of a rank that does not exist") {
        REQUIRE(closed(0, from_enemy(PacketKind::link_dead), bytes_of(LinkBody{4, 0})));
        REQUIRE(closed(0, from_enemy(PacketKind::link_dead), bytes_of(LinkBody{1, 2})));
        REQUIRE(closed(0, from_enemy(PacketKind::link_dead), bytes_of(LinkBody{1, ~0u})));
    }
    SECTION("labels of flows that were not opened") {
        REQUIRE(closed(0, from_enemy(PacketKind::flow_eager)));
        REQUIRE(closed(0, from_enemy(PacketKind::flow_open), bytes_of(FlowOpenBody{0, 0, 1, 0})) ==
                false);
        PacketHeader header = from_enemy(PacketKind::flow_open);
        header.context = 5;
        REQUIRE(closed(0, header, bytes_of(FlowOpenBody{0, 0, 1, 0})));
    }
}

TEST_CASE("a forged match of a later receive of a flow does not lose the first receive",
          "[core][hostile][bug3]") {
    PacketHeader open = from_enemy(PacketKind::flow_open);
    PacketHeader matched = from_enemy(PacketKind::matched);
    matched.sequence = 1;
    const Outcome outcome =
        attack_with(16, {{open, bytes_of(FlowOpenBody{0, 0, 1, 0})},
                         {matched, bytes_of(MatchedBody{first_id | 1, 1, 10})}});
    INFO(outcome.log);
    REQUIRE(outcome.closed);
    REQUIRE(outcome.broken == "");
}

TEST_CASE("packets in the name of another rank are dropped", "[core][hostile][bug4]") {
    for (const std::uint32_t source : {0u, 3u}) {
        CAPTURE(source);
        PacketHeader header = from_enemy(PacketKind::eager);
        header.source = source;
        header.context = 1;
        header.tag = source == 0 ? 6 : 5;
        const Outcome outcome = attack_with(0, {{header, {}}, {header, {}}});
        INFO(outcome.log);
        REQUIRE(outcome.broken == "");
        REQUIRE_THAT(outcome.log, Catch::Contains("is not valid there"));
    }
}

// The relay between the attacker and that rank is innocent.
TEST_CASE("a packet in the name of the rank that has to relay it is dropped", "[core][hostile]") {
    PacketHeader header = from_enemy(PacketKind::eager);
    header.source = 3;
    header.destination = 2;
    const Outcome outcome = attack_with(0, {{header, {}}, {header, {}}});
    INFO(outcome.log);
    REQUIRE(outcome.broken == "");
}

}  // namespace hostile_test

// SPDX-License-Identifier: BSD-3-Clause
// Credits and held packets of a connection: taking, returning and owing credits.
#include "core/connection/credits.h"

#include <catch2/catch.hpp>

#include "core/connection/held_packets.h"
#include "core/link/lanes.h"

namespace torusmp::core::testing::credits_test {
namespace {

using transport::credit_of;

// Four credits on virtual channel 0, eight on 1.
Credits two_channels() {
    Credits credits;
    credits.add(0, 4, 2);
    credits.add(1, 8, 6);
    return credits;
}

}  // namespace

TEST_CASE("no more credits return than were taken", "[credits]") {
    Credits credits = two_channels();
    credits.take(0);
    credits.take(0);
    CHECK(credits.granted(0) == 2);
    CHECK(credits.taken(0) == 2);
    CHECK_FALSE(credits.give_back(3 * credit_of(0)));
    CHECK_FALSE(credits.give_back(credit_of(1)));
    CHECK_FALSE(credits.give_back(credit_of(0) | Credits::Word{0x80} << 56));
    CHECK(credits.granted() == 2 * credit_of(0) + 8 * credit_of(1));
    CHECK(credits.give_back(2 * credit_of(0)));
    CHECK(credits.granted() == credits.limit());
}

TEST_CASE("credits of a link never return in packets", "[credits]") {
    Credits link = two_channels(), direct = two_channels();
    direct.return_with_packets();
    link.take(0);
    direct.take(0);
    CHECK_FALSE(link.give_back_with_packet(credit_of(0)));
    CHECK(link.taken(0) == 1);
    CHECK(direct.give_back_with_packet(credit_of(0)));
    CHECK_FALSE(direct.give_back_with_packet(credit_of(0)));
    CHECK(direct.taken(0) == 0);
}

TEST_CASE("owed credits are due at the threshold of their virtual channel", "[credits]") {
    Credits credits = two_channels();
    CHECK_FALSE(credits.owe(0));
    for (int i = 0; i < 5; ++i) CHECK_FALSE(credits.owe(1));
    CHECK(credits.owe(1));
    CHECK(credits.owe(0));
    CHECK(credits.take_owed(lanes_below(1)) == 2 * credit_of(0));
    CHECK(credits.take_owed() == 6 * credit_of(1));
    CHECK(credits.owed() == 0);
}

TEST_CASE("a bubble stays free in a ring", "[credits]") {
    Credits line = two_channels(), ring = two_channels();
    ring.keep_bubble();
    for (int i = 0; i < 3; ++i) {
        CHECK(ring.may_enter());
        line.take(0);
        ring.take(0);
    }
    CHECK(line.may_enter());
    CHECK_FALSE(ring.may_enter());
    CHECK(line.to_relay(true) == 1);
    CHECK(ring.to_relay(true) == 2);
    CHECK(ring.to_relay(false) == 1);
}

TEST_CASE("all credits count as returned although the peer owes some below its threshold",
          "[credits]") {
    Credits credits = two_channels();
    credits.take(0);
    CHECK(credits.are_home(2));
    credits.take(0);
    CHECK_FALSE(credits.are_home(2));
    CHECK(credits.are_home(0));
}

TEST_CASE("a cable that dies takes its own credits along, and a new cable brings all of them",
          "[credits]") {
    Credits credits = two_channels();
    credits.take(0);
    credits.take(1);
    credits.owe(0);
    credits.owe(1);
    credits.lose_cable(lanes_below(1));
    CHECK(credits.granted() == 3 * credit_of(0));
    CHECK(credits.owed() == credit_of(0));
    credits.gain_cable(lanes_below(1));
    CHECK(credits.granted() == 3 * credit_of(0) + 8 * credit_of(1));
    CHECK(credits.owed() == credit_of(0));
    CHECK(credits.hold_invariant());
}

TEST_CASE("packets are held by virtual channel", "[credits]") {
    HeldPackets held;
    CHECK_FALSE(held.any());
    for (const int k : {0, 2, 3}) held.hold(k);
    CHECK(held.on(2));
    CHECK_FALSE(held.on(1));
    held.release_below(2);
    CHECK_FALSE(held.on(0));
    CHECK(held.on(2));
    held.release_from(3);
    CHECK(held.on(2));
    CHECK_FALSE(held.on(3));
    held.release(2);
    CHECK_FALSE(held.any());
}

}  // namespace torusmp::core::testing::credits_test

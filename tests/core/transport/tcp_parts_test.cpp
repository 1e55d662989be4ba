// SPDX-License-Identifier: BSD-3-Clause
// The parts of a TCP channel that need no socket: the slots of held packets, and the decision that
// the other end no longer answers.
#include <catch2/catch.hpp>
#include <chrono>
#include <deque>
#include <random>
#include <vector>

#include "core/transport/tcp/held_slots.h"
#include "core/transport/tcp/silence.h"

namespace torusmp::transport::tcp::tcp_parts_test {

using std::chrono::milliseconds;

TEST_CASE("Held packets come out as they went in, and never more than there are slots") {
    std::mt19937 random(28);
    for (std::size_t slots = 1; slots <= 5; ++slots) {
        constexpr std::size_t slot_bytes = 24;
        HeldSlots held;
        std::deque<std::vector<std::byte>> expected;
        for (int i = 0; i < 400; ++i) {
            if (random() % 2 == 0) {
                std::vector<std::byte> payload(random() % (slot_bytes + 1));
                for (std::byte& it : payload) it = std::byte(random());
                PacketHeader header{};
                header.length = std::uint32_t(payload.size());
                header.stamp = std::uint32_t(i);
                const bool pushed = held.push(header, payload.data(), slots, slot_bytes);
                REQUIRE(pushed == (expected.size() < slots));
                if (pushed) expected.push_back(payload);
            } else if (!held.empty()) {
                const PacketHeader header = held.header();
                REQUIRE(std::vector<std::byte>(held.payload(), held.payload() + header.length) ==
                        expected.front());
                held.pop();
                expected.pop_front();
            }
            REQUIRE(held.size() == expected.size());
        }
        held.clear();
        CHECK(held.empty());
    }
}

constexpr milliseconds patience(9000);
const Clock::time_point start = Clock::time_point() + std::chrono::hours(1);

tcp_info after(milliseconds since_answer, milliseconds since_sent = milliseconds(0)) {
    tcp_info info{};
    info.tcpi_last_ack_recv = std::uint32_t(since_answer.count());
    info.tcpi_last_data_sent = std::uint32_t(since_sent.count());
    return info;
}

TEST_CASE("An idle connection is asked after a third of the patience, and not while it is full") {
    SilenceWatch watch;
    const auto early = watch.look(after(milliseconds(1000)), start, {patience, false, false});
    CHECK_FALSE((early.ask || early.dead));
    CHECK(early.next == start + patience / 3 - milliseconds(1000));
    const auto full = watch.look(after(milliseconds(5000)), start, {patience, false, true});
    CHECK_FALSE((full.ask || full.dead));
    CHECK(full.next == start + patience / 8);
    const auto late = watch.look(after(milliseconds(5000)), start, {patience, false, false});
    CHECK(late.ask);
    CHECK_FALSE(late.dead);
}

// Looks whenever the watch asks to, at a peer that falls silent at `start` with data under way.
std::chrono::nanoseconds dies_after(bool made_good, bool retransmits, unsigned probes) {
    SilenceWatch watch;
    auto now = start;
    for (int i = 0; i < 1000; ++i) {
        const auto silence = std::chrono::duration_cast<milliseconds>(now - start);
        // The kernel sends again after waits that double; the last time was at most half as long
        // ago as the silence.
        tcp_info info = after(silence, silence / 2);
        info.tcpi_unacked = 1;
        info.tcpi_retransmits = retransmits && silence > milliseconds(0) ? 1 : 0;
        info.tcpi_probes = std::uint8_t(probes);
        const auto found = watch.look(info, now, {patience, made_good, false});
        CHECK_FALSE(found.ask);
        if (found.dead) return now - start;
        REQUIRE(found.next > now);
        now = found.next;
    }
    return std::chrono::nanoseconds::max();
}

TEST_CASE(
    "A peer that does not answer is dead after the patience, sooner if its loss is repaired") {
    // A repaired loss: as soon as the silence is as long as the patience.
    CHECK(dies_after(true, true, 0) >= patience);
    CHECK(dies_after(true, true, 0) < patience * 9 / 8);
    // A loss that ends the job: only if a question after such a silence had no answer either.
    CHECK(dies_after(false, true, 0) >= 2 * patience);
    CHECK(dies_after(false, true, 0) < patience * 5 / 2);
    CHECK(dies_after(false, false, 2) >= 2 * patience);
    // Nothing was sent again and no probe went out: there is no sign of a dead peer.
    CHECK(dies_after(true, false, 0) == std::chrono::nanoseconds::max());
    CHECK(dies_after(false, false, 1) == std::chrono::nanoseconds::max());
}

TEST_CASE("An answer between two looks restarts the patience") {
    SilenceWatch watch;
    tcp_info info = after(patience, patience / 2);
    info.tcpi_unacked = 1;
    info.tcpi_retransmits = 1;
    CHECK_FALSE(watch.look(info, start, {patience, true, false}).dead);  // just seen unacknowledged
    info.tcpi_last_ack_recv = 1;  // it answered one millisecond before the next look
    CHECK_FALSE(watch.look(info, start + 2 * patience, {patience, true, false}).dead);
    info.tcpi_last_ack_recv = std::uint32_t(patience.count());
    CHECK(watch.look(info, start + 3 * patience, {patience, true, false}).dead);
}

}  // namespace torusmp::transport::tcp::tcp_parts_test

// SPDX-License-Identifier: BSD-3-Clause
// The parts of a TCP channel that need no socket: the slots of held packets, the queue of remote
// writes, and the decision that the other end no longer answers.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "core/transport/common/crc32c.h"
#include "core/transport/tcp/held_slots.h"
#include "core/transport/tcp/silence.h"
#include "core/transport/tcp/write_queue.h"

namespace torusmp::transport::tcp::tcp_parts_test {

using std::chrono::milliseconds;

TEST_CASE("Held packets come out in order, and never more than the number of slots") {
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

// A receiver of the frames of writes: a memory for each write, and the notices in their order.
struct Landing {
    std::vector<std::vector<std::byte>> memory;
    std::vector<std::uint64_t> notices;

    // Takes a stream of whole frames.
    void take(const std::vector<std::byte>& stream, bool checksum) {
        for (std::size_t at = 0; at != stream.size();) {
            FrameHead head{};
            REQUIRE(stream.size() - at >= head_bytes(checksum));
            std::memcpy(&head, stream.data() + at, head_bytes(checksum));
            const auto frame = std::bit_cast<WriteFrame>(head.header);
            at += head_bytes(checksum);
            REQUIRE(frame.frame == Frame::write);
            REQUIRE(frame.length <= write_piece);
            REQUIRE(stream.size() - at >= frame.length);
            if (checksum) {
                REQUIRE(head.checksum == checksum_of(head.header));
                REQUIRE(frame.checksum == crc32c(stream.data() + at, frame.length, 0));
            }
            auto& to = memory.at(frame.memory());
            REQUIRE(frame.offset + frame.length <= to.size());
            std::copy_n(stream.data() + at, frame.length, to.data() + frame.offset);
            at += frame.length;
            if (frame.notifies != 0) notices.push_back(frame.notice);
        }
    }
};

TEST_CASE("Writes are sent whole and in order, however little the socket takes") {
    const bool checksum = GENERATE(false, true);
    const unsigned seed = GENERATE(range(1u, 9u));
    CAPTURE(checksum, seed);
    std::mt19937 random(seed);
    WriteQueue queue(checksum);
    Landing landing;
    std::deque<std::vector<std::byte>> sources;
    std::vector<std::vector<std::byte>> expected;
    std::vector<std::uint64_t> notices, finished;
    std::vector<std::byte> stream;
    constexpr std::size_t writes = 30;
    while (finished.size() < writes) {
        if (expected.size() < writes && random() % 3 != 0) {
            const std::uint64_t number = expected.size();
            WriteQueue::Write write{number, 0, {}, number, {}, {}};
            std::vector<std::byte> whole;
            const std::size_t stretches = 1 + random() % most_gathered;
            for (std::size_t i = 0; i < stretches; ++i) {
                // Some writes are longer than a frame.
                auto& source = sources.emplace_back(1 + random() % (stretches < 4 ? 200'000 : 900));
                for (std::byte& it : source) it = std::byte(random());
                whole.insert(whole.end(), source.begin(), source.end());
                if (i == 0)
                    write.left = source;
                else
                    write.behind.push_back(source);
            }
            if (random() % 2 == 0) notices.push_back(*(write.notice = 1000 + number));
            landing.memory.emplace_back(whole.size());
            expected.push_back(std::move(whole));
            queue.push(std::move(write));
        }
        Parts parts;
        queue.add_rest(parts);
        REQUIRE((parts.bytes() != 0) == queue.inside_piece());
        const std::size_t rest = parts.bytes();
        queue.add_pieces(parts);
        if (parts.empty()) continue;
        // The socket takes all, or some, of it.
        const std::size_t taken =
            random() % 3 == 0 ? parts.bytes() : random() % (parts.bytes() + 1);
        std::size_t left = taken;
        for (const iovec& part : parts.list()) {
            const auto* const from = static_cast<const std::byte*>(part.iov_base);
            const std::size_t bytes = std::min(left, part.iov_len);
            stream.insert(stream.end(), from, from + bytes);
            left -= bytes;
        }
        const auto end = [&](std::uint64_t cookie) { finished.push_back(cookie); };
        queue.sent_rest(std::min(taken, rest), end);
        queue.sent_pieces(taken - std::min(taken, rest), end);
        if (queue.inside_piece()) continue;
        landing.take(stream, checksum);
        stream.clear();
    }
    CHECK(queue.empty());
    CHECK(stream.empty());
    CHECK(landing.memory == expected);
    CHECK(landing.notices == notices);
    CHECK(std::is_sorted(finished.begin(), finished.end()));

    queue.push({7, 0, sources.front(), 77, {}, {}});
    std::vector<std::uint64_t> dropped;
    queue.drop([&](std::uint64_t cookie) { dropped.push_back(cookie); });
    CHECK(dropped == std::vector<std::uint64_t>{77});
    CHECK(queue.empty());
}

constexpr milliseconds limit(9000);
const Clock::time_point start = Clock::time_point() + std::chrono::hours(1);

tcp_info after(milliseconds since_answer, milliseconds since_sent = milliseconds(0)) {
    tcp_info info{};
    info.tcpi_last_ack_recv = std::uint32_t(since_answer.count());
    info.tcpi_last_data_sent = std::uint32_t(since_sent.count());
    return info;
}

TEST_CASE("An idle connection is probed after a third of the limit, but not while it is full") {
    SilenceWatch watch;
    const auto early = watch.look(after(milliseconds(1000)), start, {limit, false, false});
    CHECK_FALSE((early.ask || early.dead));
    CHECK(early.next == start + limit / 3 - milliseconds(1000));
    const auto full = watch.look(after(milliseconds(5000)), start, {limit, false, true});
    CHECK_FALSE((full.ask || full.dead));
    CHECK(full.next == start + limit / 8);
    const auto late = watch.look(after(milliseconds(5000)), start, {limit, false, false});
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
        const auto found = watch.look(info, now, {limit, made_good, false});
        CHECK_FALSE(found.ask);
        if (found.dead) return now - start;
        REQUIRE(found.next > now);
        now = found.next;
    }
    return std::chrono::nanoseconds::max();
}

TEST_CASE(
    "A peer that does not answer is dead after the limit, or sooner if its loss is repaired") {
    // A repaired loss: as soon as the silence is as long as the limit.
    CHECK(dies_after(true, true, 0) >= limit);
    CHECK(dies_after(true, true, 0) < limit * 9 / 8);
    // A loss that ends the job: only if a question after such a silence had no answer either.
    CHECK(dies_after(false, true, 0) >= 2 * limit);
    CHECK(dies_after(false, true, 0) < limit * 5 / 2);
    CHECK(dies_after(false, false, 2) >= 2 * limit);
    // No packet was sent again and no probe went out, so nothing indicates a dead peer.
    CHECK(dies_after(true, false, 0) == std::chrono::nanoseconds::max());
    CHECK(dies_after(false, false, 1) == std::chrono::nanoseconds::max());
}

TEST_CASE("An answer between two checks restarts the limit") {
    SilenceWatch watch;
    tcp_info info = after(limit, limit / 2);
    info.tcpi_unacked = 1;
    info.tcpi_retransmits = 1;
    CHECK_FALSE(watch.look(info, start, {limit, true, false}).dead);  // just seen unacknowledged
    info.tcpi_last_ack_recv = 1;  // it answered one millisecond before the next look
    CHECK_FALSE(watch.look(info, start + 2 * limit, {limit, true, false}).dead);
    info.tcpi_last_ack_recv = std::uint32_t(limit.count());
    CHECK(watch.look(info, start + 3 * limit, {limit, true, false}).dead);
}

}  // namespace torusmp::transport::tcp::tcp_parts_test

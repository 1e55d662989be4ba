// SPDX-License-Identifier: BSD-3-Clause
// The places of payloads in a slot queue: payloads in use do not overlap, and the reader finds each
// payload where the writer has put it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "core/transport/shm/channel.h"

namespace torusmp::transport::shm {
namespace shm_queue_test {
namespace {

constexpr std::size_t longest = near_bytes + 2048;
constexpr std::size_t blocks_only = 0;

struct Packet {
    std::byte* payload;
    std::size_t bytes;
    std::byte content;
};

// Both ends of one queue, in memory of this process.
class Queue {
  public:
    Queue(std::size_t slots, std::size_t round)
        : memory_(slots * line_bytes + 4096 + std::max(slots * longest, round)),
          out_(lines(), slots, longest, round),
          in_(lines(), slots, longest, round) {}

    Packet send(std::size_t bytes, std::byte content) {
        std::byte* const payload = out_.payload(bytes);
        std::memset(payload, int(content), bytes);
        kinds_.push_back(out_.block());
        out_.advance();
        return {payload, bytes, content};
    }
    // Where the reader looks for the payload of the next packet.
    std::byte* receive(std::size_t bytes) {
        const std::uint8_t kind = kinds_.front();
        kinds_.pop_front();
        std::byte* payload = in_.line() + sizeof(PacketHeader);
        if (bytes > inline_bytes) {
            const bool near = in_.goes_round() && kind == SlotQueue::near_block;
            payload = near               ? in_.near()
                      : in_.goes_round() ? in_.next_in_round(bytes)
                                         : in_.bulk(kind);
            if (in_.goes_round() && !near) in_.pass_in_round(bytes);
        }
        in_.advance();
        return payload;
    }
    void give_back(std::uint32_t slots) { out_.returned(slots); }
    // Whether both ends time the next payload, of that many bytes, if it goes into the round.
    bool send_is_timed(std::size_t bytes) {
        const bool by_reader = in_.used_before(bytes);
        send(bytes, std::byte{1});
        receive(bytes);
        give_back(1);
        REQUIRE(out_.is_timed() == by_reader);
        return by_reader;
    }

  private:
    std::byte* lines() {
        const auto at = reinterpret_cast<std::uintptr_t>(memory_.data());
        return memory_.data() + (round_up(at, 64) - at);
    }

    std::vector<std::byte> memory_;
    OutSlotQueue out_;
    SlotQueue in_;
    std::deque<std::uint8_t> kinds_;  // transport_byte of the packets on their way
};

bool is_whole(const Packet& packet) {
    for (std::size_t i = 0; i < packet.bytes; ++i)
        if (packet.payload[i] != packet.content) return false;
    return true;
}

void check(std::size_t slots, std::size_t round, unsigned seed) {
    CAPTURE(slots, round, seed);
    std::mt19937 random(seed);
    const auto below = [&](std::size_t most) { return std::size_t(random() % most); };
    Queue queue(slots, round);
    std::deque<Packet> sent, received;  // received: their slots have not returned
    for (int step = 0; step < 4000; ++step) {
        const bool room = sent.size() + received.size() < slots;
        if (room && below(2) == 0) {
            const std::size_t bytes = below(4) == 0 ? below(inline_bytes + 1) : 1 + below(longest);
            sent.push_back(queue.send(bytes, std::byte(step)));
        } else if (!sent.empty() && below(2) == 0) {
            const Packet packet = sent.front();
            sent.pop_front();
            if (queue.receive(packet.bytes) != packet.payload)
                FAIL("the reader finds another place");
            if (!is_whole(packet)) FAIL("a later payload overlaps this one");
            received.push_back(packet);
        } else if (!received.empty()) {
            const std::size_t slots_back = 1 + below(received.size());
            for (std::size_t i = 0; i < slots_back; ++i) {
                if (!is_whole(received.front())) FAIL("overwritten before its slot returned");
                received.pop_front();
            }
            queue.give_back(std::uint32_t(slots_back));
        }
    }
}

TEST_CASE("payloads of a slot queue do not overlap while they are in use", "[shm][queue]") {
    for (const std::size_t slots : {2, 3, 16, 120}) {
        const std::size_t least = round_begin + (slots + 1) * longest;
        for (unsigned seed = 1; seed <= 5; ++seed) {
            check(slots, blocks_only, seed);
            check(slots, least, seed);
            check(slots, least + 3 * longest + 64, seed);
            check(slots, 3 * least, seed);
        }
    }
}

TEST_CASE("only a short payload without others under way has one of the same two places",
          "[shm][queue]") {
    const std::size_t slots = 4;
    Queue queue(slots, round_begin + (slots + 1) * longest);
    const std::byte content{1};
    const Packet first = queue.send(1000, content);
    const Packet beside = queue.send(1000, content);
    CHECK(beside.payload != first.payload);
    queue.receive(1000);
    queue.receive(1000);
    queue.give_back(1);
    const Packet third = queue.send(1000, content);
    CHECK(third.payload != first.payload);
    queue.receive(1000);
    queue.give_back(2);
    const Packet other = queue.send(1000, content);
    CHECK(other.payload != first.payload);
    CHECK(other.payload != beside.payload);
    CHECK(other.payload != third.payload);
    queue.receive(1000);
    queue.give_back(1);
    CHECK(queue.send(1000, content).payload == first.payload);
    queue.receive(1000);
    queue.give_back(1);
    CHECK(queue.send(1000, content).payload == other.payload);
    queue.receive(1000);
    queue.give_back(1);
    CHECK(queue.send(near_bytes + 1, content).payload != first.payload);
}

TEST_CASE("payloads in memory that was never used before are not timed", "[shm][queue]") {
    const std::size_t slots = 2;
    const std::size_t bytes = near_bytes + 64;
    const std::size_t least = round_begin + (slots + 1) * longest;
    const std::size_t whole = round_begin + 40 * bytes;
    Queue queue(slots, whole);
    // Few payloads are fresh at first, so that rates are known soon; in the end each place was
    // fresh once.
    std::size_t fresh = 0, sent = 0;
    for (; sent < least / bytes + 4; ++sent) fresh += queue.send_is_timed(bytes) ? 0 : 1;
    CHECK(fresh < sent);
    for (; sent < 20'000; ++sent) fresh += queue.send_is_timed(bytes) ? 0 : 1;
    CHECK(fresh == 40);
    for (int i = 0; i < 80; ++i) CHECK(queue.send_is_timed(bytes));
}

}  // namespace
}  // namespace shm_queue_test

}  // namespace torusmp::transport::shm

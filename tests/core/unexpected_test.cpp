// SPDX-License-Identifier: BSD-3-Clause
// Unexpected messages: their memory is bounded, and the bound must not lose, delay or reorder
// messages.

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <vector>

#include "core/pool.h"
#include "job.h"

namespace torusmp::core::testing::unexpected_test {
namespace {

constexpr Context context = 3;
constexpr Tag flood = 5, other = 6;
constexpr std::size_t bytes = 300;
constexpr std::size_t bound = 16 << 10;

struct Message {
    std::vector<std::byte> data;
    SendRequest send;
    ReceiveRequest receive;
};

// A job of which every rank but one sends that one many messages, like a blocking caller: one at a
// time, as soon as the one before is complete.
class Flood {
  public:
    Flood(const JobOptions& options, Rank to, std::size_t count)
        : to_(to), count_(count), job_(options) {
        sources_.resize(std::size_t(job_.size()));
        received_.resize(sources_.size());
    }

    Job& job() { return job_; }
    // Sends what may be sent. True: all has been handed over.
    bool advance() {
        bool all = true;
        for (Rank from = 0; from < job_.size(); ++from) {
            if (from == to_) continue;
            std::deque<Message>& sent = sources_[std::size_t(from)];
            while (sent.size() < count_ && (sent.empty() || sent.back().send.complete())) {
                Message& message = sent.emplace_back();
                message.data.resize(bytes);
                fill(message.data.data(), bytes, seed_of(from, sent.size()));
                job_[from].send(message.send, Buffer(message.data.data(), bytes), to_, context,
                                flood);
            }
            all = all && sent.size() == count_ && sent.back().send.complete();
        }
        most_ = std::max(most_, job_[to_].state().unexpected_bytes());
        return all;
    }
    // Receives all that this rank sends. False: one is missing, or is not what was sent.
    bool receive_from(Rank from) {
        std::size_t& number = received_[std::size_t(from)];
        while (number < count_) {
            std::fill(room_.begin(), room_.end(), std::byte{0});
            job_[to_].receive(receive_, Buffer(room_.data(), bytes), from, context, flood);
            const auto done = [&] {
                advance();
                return receive_.complete();
            };
            if (!job_.run_until(done) || receive_.status().error != Error::none ||
                receive_.status().bytes != bytes ||
                !filled(room_.data(), bytes, seed_of(from, ++number)))
                return false;
        }
        return true;
    }
    // The most bytes stored at any time.
    std::size_t most() const { return most_; }

  private:
    static std::uint64_t seed_of(Rank from, std::size_t number) {
        return std::uint64_t(from) << 32 | number;
    }

    const Rank to_;
    const std::size_t count_;
    std::vector<std::deque<Message>> sources_;  // by rank
    std::vector<std::size_t> received_;         // by rank, too
    std::size_t most_ = 0;
    std::vector<std::byte> room_ = std::vector<std::byte>(bytes);
    ReceiveRequest receive_;
    Job job_;
};

// The most bytes that sources may have under way when they are asked to hold their messages: the
// request arrives with the credits for the packets that they sent.
std::size_t under_way(const Job& job) {
    return std::size_t(job.size()) * 40 * (bytes + 128);
}

}  // namespace

TEST_CASE("ranks that flood another rank wait for it, and other messages pass",
          "[core][unexpected]") {
    const std::uint64_t seed = GENERATE(range(1, 9));
    const bool shortcuts = seed % 2 == 0;
    JobOptions options = tight_torus({3, 4}, seed);
    options.unexpected_limit = bound;
    options.shortcuts = shortcuts ? 4 : 0;
    CAPTURE(seed);
    // Rank 0 asks for something else, as it would in another call.
    std::byte word{}, out{1};
    ReceiveRequest wanted;
    SendRequest answer;
    std::vector<std::byte> there(8'000), back(8'000);
    SendRequest send;
    ReceiveRequest receive;
    Flood all(options, 0, 400);
    Job& job = all.job();
    job[0].receive(wanted, Buffer(&word, 1), 7, context, other);
    job.run_until([&] { return all.advance(); });
    job.settle();
    INFO(job.report());
    REQUIRE_FALSE(all.advance());  // they wait
    CHECK(all.most() < bound + under_way(job));
    // Messages for other ranks pass rank 0 and the waiting ranks.
    for (Rank from = 1; from < job.size(); ++from) {
        const Rank to = (from + 7) % job.size();
        if (to == 0) continue;
        fill(there.data(), there.size(), seed + 77);
        job[to].receive(receive, Buffer(back.data(), back.size()), from, context, other);
        job[from].send(send, Buffer(there.data(), there.size()), to, context, other);
        REQUIRE(job.run_until([&] { return send.complete() && receive.complete(); }));
        REQUIRE(filled(back.data(), back.size(), seed + 77));
    }
    job[7].send(answer, Buffer(&out, 1), 0, context, other);
    REQUIRE(job.run_until([&] { return wanted.complete(); }));
    for (Rank from = 1; from < job.size(); ++from) REQUIRE(all.receive_from(from));
    REQUIRE(job.run_until([&] { return all.advance() && answer.complete(); }));
    job.settle();
    CHECK(job[0].state().unexpected_bytes() == 0);
    CHECK(all.most() < bound + under_way(job));
    CHECK(job.quiet());
    CHECK(job.credits_home());
}

TEST_CASE("messages that were queued before their peer held them match their receives in any order",
          "[core][unexpected]") {
    const std::uint64_t seed = GENERATE(range(1, 17));
    JobOptions options = tight_torus({5}, seed);
    options.unexpected_limit = seed % 3 == 0 ? 0 : bound;
    options.direct = seed % 4 == 0;
    options.world.mapped = options.world.all_mapped = seed % 8 == 0;
    CAPTURE(seed);
    constexpr std::size_t count = 200;
    std::deque<Message> messages(count);
    std::vector<std::vector<std::byte>> rooms(count);
    Job job(options);
    // All at once, of two tags in turns, empty ones among them; the second tag is received first.
    const auto size_of = [](std::size_t i) { return i % 5 == 0 ? 0 : bytes + i; };
    for (std::size_t i = 0; i < count; ++i) {
        messages[i].data.resize(size_of(i));
        fill(messages[i].data.data(), messages[i].data.size(), i + 1);
        job[2].send(messages[i].send, Buffer(messages[i].data.data(), messages[i].data.size()), 0,
                    context, i % 2 == 0 ? flood : other);
        if (i % 50 == 49) job.settle();
    }
    job.settle();
    for (const std::size_t odd : {std::size_t{1}, std::size_t{0}})
        for (std::size_t i = odd; i < count; i += 2) {
            rooms[i].resize(size_of(i));
            const Rank source = i % 7 == 0 ? any_source : 2;
            job[0].receive(messages[i].receive, Buffer(rooms[i].data(), rooms[i].size()), source,
                           context, odd == 0 ? flood : other);
            if (i % 31 == 0) job.settle();
        }
    job.settle();
    INFO(job.report());
    for (std::size_t i = 0; i < count; ++i) {
        CAPTURE(i);
        REQUIRE(messages[i].send.complete());
        REQUIRE(messages[i].receive.complete());
        REQUIRE(messages[i].receive.status().bytes == size_of(i));
        REQUIRE(filled(rooms[i].data(), rooms[i].size(), i + 1));
    }
    CHECK(job[0].state().unexpected_bytes() == 0);
    CHECK(job.credits_home());
}

TEST_CASE("a source without unexpected messages continues while others wait",
          "[core][unexpected]") {
    JobOptions options = tight_torus({4}, 3);
    options.unexpected_limit = bound;
    Message last;
    last.data.resize(bytes);
    Flood all(options, 0, 400);
    Job& job = all.job();
    job.run_until([&] { return all.advance(); });
    job.settle();
    // All of rank 2's is received; the others' stays, which is more than half of the bound.
    REQUIRE(all.receive_from(2));
    job.settle();
    CHECK(job[0].state().unexpected_bytes() > bound / 2);
    // So a message without a receive is complete at once.
    job[2].send(last.send, Buffer(last.data.data(), bytes), 0, context, other);
    CHECK(job.run_until([&] { return last.send.complete(); }));
    job[0].receive(last.receive, Buffer(last.data.data(), bytes), 2, context, other);
    REQUIRE(job.run_until([&] { return last.receive.complete(); }));
    REQUIRE(all.receive_from(1));
    REQUIRE(all.receive_from(3));
}

TEST_CASE("nothing is sent to a rank that is given up, but its messages are still received",
          "[core][unexpected]") {
    JobOptions options = tight_torus({4}, 3);
    options.unexpected_limit = bound;
    Flood all(options, 0, 400);
    Job& job = all.job();
    std::size_t packets = 0;  // from rank 0 to rank 2
    job.world().set_interposer(
        [&](std::size_t from, const transport::PacketHeader& header, std::vector<std::byte>&) {
            if (from == 0 && header.source == 0 && header.destination == 2) ++packets;
        });
    job.run_until([&] { return all.advance(); });
    job.settle();
    REQUIRE(packets == 1);  // it holds its messages
    job.kill(2);
    job.settle();
    ReceiveRequest receive;
    std::vector<std::byte> room(bytes);
    std::size_t received = 0;
    do {
        job[0].receive(receive, Buffer(room.data(), bytes), 2, context, flood);
        REQUIRE(receive.complete());
        received += receive.status().error == Error::none ? 1 : 0;
    } while (receive.status().error == Error::none);
    CHECK(received > 10);
    job.settle();
    CHECK(packets == 1);
}

TEST_CASE("messages to the rank itself are never held", "[core][unexpected]") {
    JobOptions options = tight_torus({2}, 1);
    options.unexpected_limit = 0;
    std::deque<Message> messages(100);
    Job job(options);
    for (Message& message : messages) {
        message.data.resize(bytes);
        job[1].send(message.send, Buffer(message.data.data(), bytes), 1, context, flood);
        REQUIRE(job.run_until([&] { return message.send.complete(); }));
    }
    for (Message& message : messages) {
        job[1].receive(message.receive, Buffer(message.data.data(), bytes), 1, context, flood);
        REQUIRE(job.run_until([&] { return message.receive.complete(); }));
    }
}

TEST_CASE("a block of the pool is at most a quarter longer than requested", "[core][unexpected]") {
    Pool pool;
    for (std::size_t size = 1; size < 200'000; size += size / 7 + 1) {
        CAPTURE(size);
        const std::size_t rounded = Pool::rounded(size);
        REQUIRE(rounded >= size);
        REQUIRE(rounded <= std::max<std::size_t>(64, size + size / 4));
        void* const block = pool.take(size);
        std::fill_n(static_cast<std::byte*>(block), rounded, std::byte{1});
        pool.give(block, size);
        void* const next = pool.take(size);
        // Larger blocks go back to the heap, which may give another one.
        if (size <= 128 * 1024) REQUIRE(next == block);
        pool.give(next, size);
    }
}

}  // namespace torusmp::core::testing::unexpected_test

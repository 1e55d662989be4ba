// How messages travel: eager, by remote write, by remote read, in packets; who comes first;
// layouts; truncation; cancellation; declared channels.

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <string>

#include "job.h"

using namespace torusmp::core;
using namespace torusmp::core::testing;

namespace protocol_test {
namespace {

constexpr std::size_t limit = 1024;

JobOptions line(std::uint64_t seed, sim::Remote write, sim::Remote read) {
    JobOptions options;
    options.dims = {5};
    options.seed = seed;
    options.eager_limit = limit;
    options.credits = 3;
    options.relay_credits = 2;
    options.world.write = write;
    options.world.read = read;
    return options;
}

// Memory of one message between guards, contiguous or in strided blocks.
class Memory {
  public:
    Memory(std::size_t bytes, bool strided) : bytes_(bytes) {
        if (strided && bytes > 0) {
            // Blocks of long messages are large enough to be gathered one by one.
            const std::size_t longest = bytes > 4000 ? 1500 : 96;
            const std::size_t block =
                std::max<std::size_t>(1, std::min<std::size_t>(bytes / 3, longest));
            const std::size_t blocks = bytes / block;
            std::vector<Layout::Run> runs{{guard, block, blocks, std::ptrdiff_t(block + 13)}};
            const std::size_t rest = bytes - blocks * block;
            const auto end = guard + std::ptrdiff_t(blocks * (block + 13));
            if (rest > 0) runs.push_back({end, rest, 1, 0});
            layout_ = std::make_unique<Layout>(runs);
            REQUIRE(layout_->size() == bytes);
            data_.assign(std::size_t(end) + rest + guard, std::byte{0xd5});
        } else {
            data_.assign(bytes + 2 * guard, std::byte{0xd5});
        }
    }
    Buffer buffer() {
        return layout_ ? Buffer(data_.data(), *layout_) : Buffer(data_.data() + guard, bytes_);
    }
    void write(std::uint64_t seed) {
        std::vector<std::byte> flat(bytes_);
        fill(flat.data(), bytes_, seed);
        if (bytes_ > 0) buffer().unpack(0, flat.data(), bytes_);
    }
    // The first `bytes` of the message are those of the seed.
    bool holds(std::size_t bytes, std::uint64_t seed) {
        std::vector<std::byte> flat(bytes);
        if (bytes > 0) buffer().pack(0, flat.data(), bytes);
        return filled(flat.data(), bytes, seed);
    }
    // Nothing was written between and around the blocks.
    bool guards_stand() {
        std::vector<std::byte> copy = data_;
        data_.assign(data_.size(), std::byte{0xd5});
        std::vector<std::byte> flat(bytes_);
        if (layout_)
            layout_->pack(copy.data(), 0, flat.data(), bytes_);
        else
            flat.assign(copy.begin() + guard, copy.end() - guard);
        if (bytes_ > 0) buffer().unpack(0, flat.data(), bytes_);
        data_.swap(copy);
        return data_ == copy;
    }

  private:
    static constexpr std::ptrdiff_t guard = 32;
    std::size_t bytes_;
    std::unique_ptr<Layout> layout_;
    std::vector<std::byte> data_;
};

constexpr sim::Remote ways[] = {sim::Remote::refused, sim::Remote::immediate, sim::Remote::pending,
                                sim::Remote::mixed};

enum class First { receiver, sender, neither };

std::uint64_t total(Runtime& runtime, std::uint64_t Statistics::*field) {
    std::uint64_t sum = 0;
    for (const auto& connection : runtime.state().connections())
        sum += connection.statistics.*field;
    return sum;
}

}  // namespace

TEST_CASE("a message arrives whole whoever comes first, however long, near and far",
          "[core][protocol]") {
    const First first = GENERATE(First::receiver, First::sender, First::neither);
    const int way = GENERATE(range(0, 16));
    const Rank to = GENERATE(0, 1, 2);  // itself, a neighbour, two hops
    const bool direct = to == 2 && way % 2 == 0;
    CAPTURE(int(first), way, to);
    int number = 0;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{40}, limit - 1,
                                    limit, limit + 1, 5 * limit, std::size_t{20'011}})
        for (int shape = 0; shape < 8; ++shape) {
            ++number;
            CAPTURE(bytes, shape);
            Memory out(bytes, (shape & 1) != 0);
            const std::size_t room = bytes + ((shape & 4) != 0 ? 777 : 0);
            Memory in(room, (shape & 2) != 0);
            const auto seed = std::uint64_t(100 * number + way);
            out.write(seed);
            SendRequest send;
            ReceiveRequest receive;
            JobOptions options = line(seed, ways[way % 4], ways[way / 4]);
            options.direct = direct;
            Job job(options);
            const auto post = [&] {
                const bool wild = first != First::receiver && shape == 7;
                job[to].receive(receive, in.buffer(), wild ? any_source : 0, 3, wild ? any_tag : 9);
            };
            if (first != First::sender) post();
            if (first == First::receiver) job.settle();
            job[0].send(send, out.buffer(), to, 3, 9,
                        shape == 5 ? SendMode::synchronous : SendMode::standard);
            if (first == First::sender) {
                job.settle();
                if (shape == 5) REQUIRE_FALSE(send.complete());
                post();
            }
            job.settle();
            INFO(job.report());
            REQUIRE(send.complete());
            REQUIRE(receive.complete());
            REQUIRE(send.status().error == Error::none);
            REQUIRE(receive.status().error == Error::none);
            REQUIRE(receive.status().bytes == bytes);
            REQUIRE(receive.status().source == 0);
            REQUIRE(receive.status().tag == 9);
            REQUIRE(in.holds(bytes, seed));
            REQUIRE(in.guards_stand());
            REQUIRE(job.quiet());
            REQUIRE(job.credits_home());
        }
}

TEST_CASE("a message longer than its receive ends as truncated and the sender well",
          "[core][protocol]") {
    const First first = GENERATE(First::receiver, First::sender, First::neither);
    const int way = GENERATE(range(0, 16));
    const Rank to = GENERATE(0, 1, 2);
    CAPTURE(int(first), way, to);
    for (const std::size_t room : {std::size_t{0}, std::size_t{10}, limit - 1, limit, 3 * limit})
        for (const std::size_t more : {std::size_t{1}, std::size_t{20}, 2 * limit}) {
            CAPTURE(room, more);
            Memory out(room + more, false);
            Memory in(room, way % 2 == 1);
            Memory next_in(8, false);
            Memory next_out(8, false);
            out.write(room);
            next_out.write(1);
            SendRequest send;
            ReceiveRequest receive;
            SendRequest next_send;
            ReceiveRequest next_receive;
            Job job(line(room + more, ways[way % 4], ways[way / 4]));
            if (first != First::sender) job[to].receive(receive, in.buffer(), 0, 3, 9);
            if (first == First::receiver) job.settle();
            job[0].send(send, out.buffer(), to, 3, 9);
            if (first == First::sender) {
                job.settle();
                job[to].receive(receive, in.buffer(), 0, 3, 9);
            }
            job.settle();
            REQUIRE(send.complete());
            REQUIRE(send.status().error == Error::none);
            REQUIRE(receive.complete());
            REQUIRE(receive.status().error == Error::truncated);
            REQUIRE(receive.status().bytes == room + more);
            REQUIRE(in.guards_stand());
            // The pair goes on as if nothing had happened.
            job[to].receive(next_receive, next_in.buffer(), 0, 3, 9);
            job[0].send(next_send, next_out.buffer(), to, 3, 9);
            job.settle();
            REQUIRE(next_receive.complete());
            REQUIRE(next_receive.status().error == Error::none);
            REQUIRE(next_in.holds(8, 1));
            REQUIRE(job.credits_home());
        }
}

// From rank 0 to rank 1, which asks for the message before it is sent or afterwards.
void send_to_neighbour(Job& job, SendRequest& send, Memory& out, ReceiveRequest& receive,
                       Memory& in, bool receiver_first) {
    if (receiver_first) {
        job[1].receive(receive, in.buffer(), 0, 0, 0);
        job.settle();
    }
    job[0].send(send, out.buffer(), 1, 0, 0);
    job.settle();
    if (!receiver_first) {
        job[1].receive(receive, in.buffer(), 0, 0, 0);
        job.settle();
    }
}

TEST_CASE("a large message between neighbours is written once, not sent in packets",
          "[core][protocol]") {
    const bool receiver_first = GENERATE(true, false);
    const sim::Remote way = GENERATE(sim::Remote::immediate, sim::Remote::pending);
    Memory out(50'000, false);
    Memory in(50'000, false);
    out.write(5);
    SendRequest send;
    ReceiveRequest receive;
    Job job(line(1, way, way));
    send_to_neighbour(job, send, out, receive, in, receiver_first);
    REQUIRE(receive.complete());
    REQUIRE(in.holds(50'000, 5));
    REQUIRE(total(job[0], &Statistics::bytes_sent) < 200);
    REQUIRE(total(job[0], &Statistics::bytes_written) + total(job[1], &Statistics::bytes_read) ==
            50'000);
    // After an announcement the sender needs no answer.
    if (receiver_first) REQUIRE(total(job[1], &Statistics::packets_sent) == 1);
}

TEST_CASE("a large message from scattered memory is written in pieces, not sent in packets",
          "[core][protocol]") {
    const bool receiver_first = GENERATE(true, false);
    const sim::Remote way =
        GENERATE(sim::Remote::immediate, sim::Remote::pending, sim::Remote::mixed);
    Memory out(50'000, true);
    Memory in(50'000, false);
    out.write(5);
    SendRequest send;
    ReceiveRequest receive;
    Job job(line(1, way, way));
    send_to_neighbour(job, send, out, receive, in, receiver_first);
    REQUIRE(send.complete());
    REQUIRE(receive.complete());
    REQUIRE(in.holds(50'000, 5));
    REQUIRE(in.guards_stand());
    REQUIRE(total(job[0], &Statistics::bytes_sent) < 200);
    REQUIRE(total(job[0], &Statistics::bytes_written) == 50'000);
}

TEST_CASE("a large message into scattered memory is read in pieces where reads are at once",
          "[core][protocol]") {
    Memory out(50'000, false);
    Memory in(50'000, true);
    out.write(5);
    SendRequest send;
    ReceiveRequest receive;
    Job job(line(1, sim::Remote::immediate, sim::Remote::immediate));
    job[0].send(send, out.buffer(), 1, 0, 0);
    job.settle();
    job[1].receive(receive, in.buffer(), 0, 0, 0);
    job.settle();
    REQUIRE(send.complete());
    REQUIRE(receive.complete());
    REQUIRE(in.holds(50'000, 5));
    REQUIRE(in.guards_stand());
    REQUIRE(total(job[1], &Statistics::bytes_read) == 50'000);
}

TEST_CASE("scattered memory is packed straight into and out of memory that is mapped",
          "[core][protocol]") {
    const bool scattered_sender = GENERATE(true, false);
    const std::size_t bytes = 30'000;
    JobOptions options = line(1, sim::Remote::pending, sim::Remote::pending);
    options.world.mapped = true;
    Job job(options);
    const Layout layout({{3, 7, bytes / 7, 11}, {60'000, bytes % 7, 1, 0}});
    const std::size_t whole = scattered_sender ? 1 : 0;  // the rank whose memory is one block
    auto* const block = static_cast<std::byte*>(job[Rank(whole)].allocate(bytes, 64));
    std::vector<std::byte> holes(60'100), expected(bytes);
    const Buffer plain(block, bytes), scattered(holes.data(), layout);
    fill(expected.data(), bytes, 8);
    (scattered_sender ? scattered : plain).unpack(0, expected.data(), bytes);
    SendRequest send;
    ReceiveRequest receive;
    job[0].send(send, scattered_sender ? scattered : plain, 1, 0, 0);
    job.settle();
    job[1].receive(receive, scattered_sender ? plain : scattered, 0, 0, 0);
    job.settle();
    REQUIRE(send.complete());
    REQUIRE(receive.complete());
    std::vector<std::byte> got(bytes);
    (scattered_sender ? plain : scattered).pack(0, got.data(), bytes);
    REQUIRE(got == expected);
    REQUIRE(total(job[0], &Statistics::bytes_sent) < 200);
    REQUIRE(total(job[0], &Statistics::bytes_written) + total(job[1], &Statistics::bytes_read) ==
            bytes);
    job[Rank(whole)].free(block);
}

TEST_CASE("thousands of large messages one after the other reuse the same few ids",
          "[core][protocol][bug1]") {
    const sim::Remote way = GENERATE(sim::Remote::pending, sim::Remote::refused);
    const bool receiver_first = GENERATE(true, false);
    Memory out(limit, false);
    Memory in(limit, false);
    SendRequest send;
    ReceiveRequest receive;
    Job job(line(1, way, way));
    for (int n = 0; n < 9000; ++n) {
        CAPTURE(n);
        if (receiver_first) job[1].receive(receive, in.buffer(), 0, 0, 0);
        if (receiver_first) job.settle();
        job[0].send(send, out.buffer(), 1, 0, 0);
        if (!receiver_first) job.settle();
        if (!receiver_first) job[1].receive(receive, in.buffer(), 0, 0, 0);
        if (!job.run_until([&] { return send.complete() && receive.complete(); }))
            FAIL("message " << n << " does not end: " << job.report());
    }
}

TEST_CASE("a cancelled receive ends once, cancelled or with its message, announced or not",
          "[core][protocol]") {
    const std::uint64_t seed = GENERATE(range(1, 40));
    CAPTURE(seed);
    sim::Random random(seed);
    struct Pair {
        explicit Pair(std::size_t bytes) : out(bytes, false), in(bytes, false) {}
        Memory out, in;
        SendRequest send;
        ReceiveRequest receive;
        bool cancelled = false;
    };
    std::deque<Pair> pairs;
    std::deque<std::vector<std::byte>> late_room;
    std::deque<ReceiveRequest> late;
    Job job(line(seed, ways[seed % 4], ways[seed / 4 % 4]));
    const Rank to = seed % 3 == 0 ? 2 : 1;
    std::vector<std::size_t> sizes;
    for (int n = 0; n < 60; ++n) {
        const std::size_t bytes = random.below(2) == 0 ? 2 * limit : 30;
        pairs.emplace_back(bytes);
        Pair& pair = pairs.back();
        pair.out.write(std::uint64_t(n));
        const bool receive_first = random.below(2) == 0;
        if (receive_first) job[to].receive(pair.receive, pair.in.buffer(), 0, 0, n);
        for (auto turns = random.below(6); turns > 0; --turns) job.turn();
        job[0].send(pair.send, pair.out.buffer(), to, 0, n);
        if (!receive_first) job[to].receive(pair.receive, pair.in.buffer(), 0, 0, n);
        for (auto turns = random.below(12); turns > 0; --turns) job.turn();
        if (random.below(2) == 0) {
            job[to].cancel(pair.receive);
            pair.cancelled = true;
        }
    }
    job.settle();
    // Messages whose receive was cancelled are still there for other receives.
    for (int n = 0; n < 60; ++n) {
        Pair& pair = pairs[std::size_t(n)];
        CAPTURE(n);
        INFO(job.report());
        REQUIRE(pair.receive.complete());
        if (pair.receive.status().error == Error::none) {
            REQUIRE(pair.in.holds(pair.receive.status().bytes, std::uint64_t(n)));
            continue;
        }
        REQUIRE(pair.receive.status().error == Error::cancelled);
        REQUIRE(pair.cancelled);
        late_room.emplace_back(2 * limit);
        late.emplace_back();
        job[to].receive(late.back(), Buffer(late_room.back().data(), 2 * limit), 0, 0, n);
        job.settle();
        REQUIRE(late.back().complete());
        REQUIRE(late.back().status().error == Error::none);
        REQUIRE(filled(late_room.back().data(), late.back().status().bytes, std::uint64_t(n)));
    }
    for (Pair& pair : pairs) REQUIRE(pair.send.complete());
    // And receives that never had a message end too.
    ReceiveRequest lonely;
    std::vector<std::byte> room(4 * limit);
    job[to].receive(lonely, Buffer(room.data(), room.size()), 0, 0, 1000);
    job.settle();
    REQUIRE_FALSE(lonely.complete());
    job[to].cancel(lonely);
    job.settle();
    REQUIRE(lonely.complete());
    REQUIRE(lonely.status().error == Error::cancelled);
    REQUIRE(job.quiet());
    REQUIRE(job.credits_home());
}

namespace {

class CountDown final : public Task {
  public:
    explicit CountDown(Request& request) : request_(request) {}
    bool advance() override {
        done = request_.complete();
        return done;
    }
    std::string describe() const override { return "a test's task"; }
    bool done = false;

  private:
    Request& request_;
};

}  // namespace

TEST_CASE("a cancelled send ends once: cancelled if no receive had met it, else with its message",
          "[core][protocol]") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed)
        for (const Rank dest : {1, 2}) {
            std::vector<std::byte> out(8 * limit), in(out.size()), last(3);
            SendRequest large, small;
            ReceiveRequest receive, after;
            fill(out.data(), out.size(), seed);
            Job job(line(seed, sim::Remote::pending, sim::Remote::refused));
            const auto matched = seed % 3;  // before the cancel, about the same time, never
            if (matched == 0) job[dest].receive(receive, {in.data(), in.size()}, 0, 1, 5);
            job[0].send(large, {out.data(), out.size()}, dest, 1, 5);
            for (std::uint64_t i = job.random().below(30); i > 0; --i) job.turn();
            if (matched == 1) job[dest].receive(receive, {in.data(), in.size()}, 0, 1, 5);
            job[0].cancel(large);
            INFO(job.report());
            REQUIRE(job.run_until([&] { return large.complete(); }));
            if (matched == 0) REQUIRE(large.status().error == Error::none);
            if (matched == 2) REQUIRE(large.status().error == Error::cancelled);
            const bool came = large.status().error == Error::none;
            // The next message meets the next receive.
            job[0].send(small, {out.data(), 3}, dest, 1, 5);
            ReceiveRequest& next = came || matched == 2 ? after : receive;
            if (&next == &after) job[dest].receive(after, {last.data(), last.size()}, 0, 1, 5);
            REQUIRE(job.run_until([&] { return next.complete() && small.complete(); }));
            REQUIRE(next.status().bytes == 3);
            if (came) {
                REQUIRE(job.run_until([&] { return receive.complete(); }));
                REQUIRE(filled(in.data(), in.size(), seed));
            }
            job.settle();
            REQUIRE(job.quiet());
            REQUIRE(job.credits_home());
        }
}

TEST_CASE("a cancel of a message to oneself is settled when it returns", "[core][protocol]") {
    const int ahead = GENERATE(0, 1, 500);  // messages to oneself in front of it
    const bool seen = GENERATE(false, true);
    CAPTURE(ahead, seen);
    Job job(line(1, sim::Remote::refused, sim::Remote::refused));
    std::vector<std::byte> out(8 * limit), in(out.size());
    std::deque<SendRequest> before(static_cast<std::size_t>(ahead));
    for (SendRequest& send : before) job[0].send(send, {out.data(), 3}, 0, 1, 4);

    SendRequest unmet, met;
    job[0].send(unmet, {out.data(), 0}, 0, 1, 5, SendMode::synchronous);
    if (seen) REQUIRE(job.run_until([&] { return job[0].probe(0, 1, 5).has_value(); }));
    job[0].cancel(unmet);
    REQUIRE(unmet.complete());
    REQUIRE(unmet.status().error == Error::cancelled);
    REQUIRE_FALSE(job[0].probe(0, 1, 5));

    ReceiveRequest receive;
    job[0].receive(receive, {in.data(), in.size()}, 0, 1, 5);
    if (seen) job.settle();
    job[0].cancel(receive);
    REQUIRE(receive.complete());
    REQUIRE(receive.status().error == Error::cancelled);

    ReceiveRequest meeting;
    fill(out.data(), out.size(), 7);
    job[0].receive(meeting, {in.data(), in.size()}, 0, 1, 5);
    job[0].send(met, {out.data(), out.size()}, 0, 1, 5, SendMode::synchronous);
    job[0].cancel(met);
    REQUIRE(job.run_until([&] { return met.complete() && meeting.complete(); }));
    REQUIRE(met.status().error == Error::none);
    REQUIRE(filled(in.data(), in.size(), 7));
}

TEST_CASE("messages by named cables of a ring of two use each, and match in order",
          "[core][protocol]") {
    for (const bool large : {false, true}) {
        const std::size_t bytes = large ? 3 * limit : 40;
        JobOptions options = line(3, sim::Remote::pending, sim::Remote::refused);
        options.dims = {2};
        options.spread_limit = 100 * limit;
        std::deque<SendRequest> sends(12);
        std::deque<ReceiveRequest> receives(12);
        std::vector<std::vector<std::byte>> out(12), in(12, std::vector<std::byte>(bytes));
        Job job(options);
        for (std::size_t i = 0; i < sends.size(); ++i) {
            out[i].resize(bytes);
            fill(out[i].data(), bytes, i);
            job[1].receive(receives[i], {in[i].data(), bytes}, 0, 1, 5);
            job[0].send_by(sends[i], {out[i].data(), bytes},
                           torusmp::routing::Direction{0, i % 2 == 0 ? +1 : -1}, 1, 5);
        }
        INFO(job.report());
        REQUIRE(job.run_until([&] {
            return std::all_of(receives.begin(), receives.end(),
                               [](const ReceiveRequest& r) { return r.complete(); });
        }));
        REQUIRE(in == out);
        job.settle();
        for (const auto& info : job[0].state().connections())
            if (info.link)
                REQUIRE(info.statistics.bytes_sent + info.statistics.bytes_written >= 6 * bytes);
        REQUIRE(job.credits_home());
    }
}

TEST_CASE("a report tells of packets to the rank itself that wait for a credit",
          "[core][protocol][report]") {
    std::vector<std::byte> bytes(8, std::byte{1});
    std::vector<std::byte> room(8);
    std::deque<SendRequest> sends(300);
    ReceiveRequest receive;
    JobOptions options;
    options.credits = 4;
    Job job(options);
    for (SendRequest& send : sends) job[0].send(send, Buffer(bytes.data(), bytes.size()), 0, 0, 1);
    CHECK_THAT(job[0].state().report(),
               Catch::Contains("the self connection to rank 0: packets wait for a credit"));
    for (std::size_t i = 0; i < sends.size(); ++i) {
        job[0].receive(receive, Buffer(room.data(), room.size()), 0, 0, 1);
        REQUIRE(job.run_until([&] { return receive.complete(); }));
    }
}

TEST_CASE("a task is advanced when a remote write or read ends", "[core][protocol][bug2]") {
    const bool write = GENERATE(true, false);
    Memory out(9000, false);
    Memory in(9000, false);
    SendRequest send;
    ReceiveRequest receive;
    CountDown task(write ? static_cast<Request&>(send) : receive);
    Job job(line(1, sim::Remote::pending, sim::Remote::pending));
    const Rank waiting = write ? 0 : 1;
    if (write) job[1].receive(receive, in.buffer(), 0, 0, 0);
    job.settle();
    job[0].send(send, out.buffer(), 1, 0, 0);
    job[waiting].add_task(task);
    if (!write) {
        job.settle();
        job[1].receive(receive, in.buffer(), 0, 0, 0);
    }
    job.settle();
    REQUIRE(send.complete());
    REQUIRE(receive.complete());
    REQUIRE(task.done);
}

TEST_CASE("the n-th send of a flow meets its n-th receive, whatever the lengths and delays",
          "[core][flow]") {
    const std::uint64_t seed = GENERATE(range(1, 25));
    CAPTURE(seed);
    sim::Random random(seed);
    struct Item {
        Item(std::size_t length, std::size_t most, bool a, bool b)
            : out(length, a), in(most, b), bytes(length), room(most) {}
        Memory out, in;
        SendRequest send;
        ReceiveRequest receive;
        std::size_t bytes;
        std::size_t room;
    };
    std::vector<std::deque<Item>> flows(6);
    JobOptions options = line(seed, ways[seed % 4], ways[seed / 4 % 4]);
    options.direct = seed % 5 == 0;
    Job job(options);
    struct Ends {
        Rank from, to;
        Context context;
        std::uint32_t kind;
        SendFlow* send = nullptr;
        ReceiveFlow* receive = nullptr;
        std::size_t started = 0, awaited = 0;
    };
    // Two flows that differ in kind only, one that differs in context, one to itself, one far.
    std::vector<Ends> ends{{0, 1, 0, 0}, {0, 1, 0, 1}, {0, 1, 1, 0},
                           {1, 0, 0, 0}, {2, 2, 0, 3}, {0, 2, 0, 0}};
    for (std::size_t f = 0; f < ends.size(); ++f)
        for (int n = 0; n < 50; ++n) {
            const std::size_t lengths[] = {0, 1, 60, limit - 1, limit, 3 * limit};
            const std::size_t bytes = lengths[random.below(6)];
            const std::size_t room = lengths[random.below(6)];
            flows[f].emplace_back(bytes, room, random.below(4) == 0, random.below(4) == 0);
            Item& item = flows[f].back();
            item.out.write(f * 1000 + std::uint64_t(n));
        }
    for (;;) {
        bool left = false;
        for (std::size_t f = 0; f < ends.size(); ++f) {
            Ends& end = ends[f];
            if (end.started < flows[f].size() && random.below(3) == 0) {
                if (end.send == nullptr)
                    end.send = &job[end.from].flows().open_send(end.to, end.context, end.kind);
                Item& item = flows[f][end.started++];
                job[end.from].flows().start(*end.send, item.send, item.out.buffer());
            }
            if (end.awaited < flows[f].size() && random.below(3) == 0) {
                if (end.receive == nullptr)
                    end.receive =
                        &job[end.to].flows().open_receive(end.from, end.context, end.kind);
                Item& item = flows[f][end.awaited++];
                job[end.to].flows().start(*end.receive, item.receive, item.in.buffer());
            }
            left |= end.started < flows[f].size() || end.awaited < flows[f].size();
        }
        for (auto turns = random.below(8); turns > 0; --turns) job.turn();
        if (!left) break;
    }
    job.settle();
    INFO(job.report());
    for (std::size_t f = 0; f < ends.size(); ++f) {
        REQUIRE(&job[ends[f].from].flows().open_send(ends[f].to, ends[f].context, ends[f].kind) ==
                ends[f].send);
        for (std::size_t n = 0; n < flows[f].size(); ++n) {
            Item& item = flows[f][n];
            CAPTURE(f, n, item.bytes, item.room);
            REQUIRE(item.send.complete());
            REQUIRE(item.receive.complete());
            REQUIRE(item.send.status().error == Error::none);
            REQUIRE(item.receive.status().bytes == item.bytes);
            REQUIRE(item.in.guards_stand());
            if (item.bytes > item.room) {
                REQUIRE(item.receive.status().error == Error::truncated);
            } else {
                REQUIRE(item.receive.status().error == Error::none);
                REQUIRE(item.in.holds(item.bytes, f * 1000 + n));
            }
        }
    }
    REQUIRE(job.quiet());
    REQUIRE(job.credits_home());
}

TEST_CASE("a flow that is known costs one packet, or one write and one packet, a message",
          "[core][flow]") {
    Memory out(4 * limit, false);
    Memory in(4 * limit, false);
    Job job(line(3, sim::Remote::immediate, sim::Remote::immediate));
    SendFlow& to = job[0].flows().open_send(1, 0, 0);
    ReceiveFlow& from = job[1].flows().open_receive(0, 0, 0);
    job.settle();
    const bool large = GENERATE(false, true);
    for (int n = 0; n < 5; ++n) {
        const auto packets = [&](Rank rank) { return total(job[rank], &Statistics::packets_sent); };
        const std::uint64_t before[] = {packets(0), packets(1)};
        SendRequest send;
        ReceiveRequest receive;
        const std::size_t bytes = large ? 4 * limit : 100;
        Buffer source = out.buffer();
        Buffer sink = in.buffer();
        source.bytes = sink.bytes = bytes;
        job[1].flows().start(from, receive, sink);
        job.settle();
        job[0].flows().start(to, send, source);
        job.settle();
        REQUIRE(send.complete());
        REQUIRE(receive.complete());
        REQUIRE(packets(0) - before[0] == 1);
        REQUIRE(packets(1) - before[1] == (large ? 1 : 0));
    }
}

}  // namespace protocol_test

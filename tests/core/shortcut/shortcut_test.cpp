// SPDX-License-Identifier: BSD-3-Clause
// Shortcuts: their creation and use. The loss of a shortcut must not lose or reorder messages, nor
// print a message, whatever is under way.

#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <vector>

#include "core/job.h"
#include "core/shortcut/shortcut_round.h"

using namespace torusmp;
using namespace torusmp::core;
using namespace torusmp::core::testing;

namespace shortcut_test {
namespace {

// A line of ranks, of which rank 0 sends numbers to ranks further away.
JobOptions line(int ranks) {
    JobOptions options = tight_torus({ranks}, 1);
    options.periodic = {false};
    options.credits = options.relay_credits = 4;
    options.shortcuts = 8;
    return options;
}

class Numbers {
  public:
    explicit Numbers(const JobOptions& options) : job_(std::make_unique<Job>(options)) {}

    Job& job() { return *job_; }

    // A message of that many bytes, numbered.
    void send(Rank to, std::size_t bytes = 8, Rank from = 0) {
        const std::uint64_t number = sends_.size();
        Out& out = sends_.emplace_back(bytes);
        fill(out.bytes.data(), bytes, number);
        job()[from].send(out.request, Buffer(out.bytes.data(), bytes), to, 0, 0);
        In& in = receives_.emplace_back(bytes);
        job()[to].receive(in.request, Buffer(in.bytes.data(), bytes), from, 0, 0);
    }
    void send_and_settle(Rank to, int count) {
        for (int i = 0; i < count; ++i) {
            send(to);
            job().settle();
        }
    }
    // All that were sent have come, each into the receive that was posted for it.
    bool complete() const {
        for (std::size_t i = 0; i < receives_.size(); ++i) {
            const In& in = receives_[i];
            if (!in.request.complete() || in.request.status().error != Error::none ||
                in.request.status().bytes != in.bytes.size() ||
                !filled(in.bytes.data(), in.bytes.size(), i))
                return false;
        }
        return true;
    }
    bool at_rest() { return complete() && job().quiet() && job().credits_home(); }

    ShortcutCounts counts(Rank rank) { return job()[rank].state().shortcuts(); }
    // Packets that a rank has relayed so far.
    std::uint64_t relayed_by(Rank rank) {
        std::uint64_t sum = 0;
        for (const auto& it : job()[rank].state().connections()) sum += it.statistics.relayed;
        return sum;
    }

  private:
    struct Out {
        explicit Out(std::size_t size) : bytes(size) {}
        std::vector<std::byte> bytes;
        SendRequest request;
    };
    struct In {
        explicit In(std::size_t size) : bytes(size) {}
        std::vector<std::byte> bytes;
        ReceiveRequest request;
    };

    std::deque<Out> sends_;
    std::deque<In> receives_;
    std::unique_ptr<Job> job_;  // last: gone before the requests
};

}  // namespace

TEST_CASE("small messages use a shortcut after some have been relayed", "[core][shortcut]") {
    Numbers numbers(line(5));
    numbers.send_and_settle(4, 4);
    CHECK(numbers.relayed_by(2) == 4);
    numbers.job().settle();
    const std::uint64_t relayed = numbers.relayed_by(2);
    numbers.send_and_settle(4, 100);
    CHECK(numbers.at_rest());
    CHECK(numbers.relayed_by(2) == relayed);
    CHECK(numbers.counts(0).made == 1);
    CHECK(numbers.counts(4).made == 1);
    CHECK(numbers.counts(4).open == 1);

    // Large ones are asked for by the shortcut, and come by relay.
    numbers.send(4, 40'000);
    numbers.send(4);
    numbers.job().settle();
    CHECK(numbers.at_rest());
    CHECK(numbers.relayed_by(2) > relayed + 10);
    CHECK(numbers.job().log().empty());
}

TEST_CASE("neighbours, and jobs without shortcuts, create none", "[core][shortcut]") {
    JobOptions options = line(4);
    options.shortcuts = GENERATE(0, 4);
    Numbers numbers(options);
    numbers.send_and_settle(1, 30);
    if (options.shortcuts == 0) numbers.send_and_settle(3, 30);
    CHECK(numbers.at_rest());
    CHECK(numbers.counts(0).made == 0);
}

TEST_CASE("packets under way on a shortcut that dies arrive by relay, in order and once",
          "[core][shortcut]") {
    Numbers numbers(line(5));
    numbers.send_and_settle(4, 10);
    REQUIRE(numbers.counts(0).open == 1);
    // As many as there are credits leave, the others wait for one; some arrive before the death.
    const int turns = GENERATE(range(0, 24));
    for (int i = 0; i < 12; ++i) numbers.send(4, i % 3 == 2 ? 3000 : 8);
    for (int i = 0; i < turns; ++i) numbers.job().turn();
    REQUIRE(numbers.job().cut_shortcut(0, 4));
    for (int i = 0; i < 5; ++i) numbers.send(4);
    numbers.job().settle();
    CHECK(numbers.at_rest());
    CHECK(numbers.counts(0).open == 0);
    CHECK((numbers.counts(0).resent != 0 || turns > 8));
    CHECK(numbers.job().log().empty());
}

TEST_CASE("a shortcut that cannot be established is tried again after twice as many messages",
          "[core][shortcut]") {
    Numbers numbers(line(4));
    Job& job = numbers.job();
    constexpr auto port = [](Rank rank) { return direct_port_base + std::uint32_t(rank); };
    job.world().cut(job.interface(0, port(3)), port(3), job.interface(3, port(0)).index(), port(0));
    numbers.send_and_settle(3, 4);
    CHECK(numbers.counts(0).made == 1);
    CHECK(numbers.counts(0).failed == 1);
    numbers.send_and_settle(3, 7);
    CHECK(numbers.counts(0).made == 1);
    numbers.send_and_settle(3, 1);
    CHECK(numbers.counts(0).made == 2);
    CHECK(numbers.at_rest());
    CHECK(numbers.job().log().empty());

    // Once the network is there it is used.
    job.revive_shortcut(0, 3);
    job.settle();
    numbers.send_and_settle(3, 200);
    const std::uint64_t relayed = numbers.relayed_by(1);
    numbers.send_and_settle(3, 50);
    CHECK(numbers.relayed_by(1) == relayed);
    CHECK(numbers.at_rest());
}

TEST_CASE("a shortcut that cannot even be attempted is tried again after twice as many messages",
          "[core][shortcut]") {
    JobOptions options = line(5);
    // Rank 4 has its only link on the second link transport, and its shortcuts on the first, whose
    // part of the address comes before the second's 16 bytes and their length.
    options.link_transports = 2;
    options.misnamed = 4;
    options.misnamed_at = 16 + 4 + 1;
    Numbers numbers(options);
    for (const std::uint64_t tries : {1, 2, 3}) {
        INFO("try " << tries);
        numbers.send_and_settle(4, (4 << (tries - 1)) - 1);
        CHECK(numbers.counts(0).made == tries - 1);
        numbers.send_and_settle(4, 1);
        CHECK(numbers.counts(0).made == tries);
        CHECK(numbers.counts(0).failed == tries);
    }
    CHECK(numbers.counts(0).open == 0);
    CHECK(numbers.at_rest());
}

TEST_CASE("a shortcut whose other end does not answer is given up after some time",
          "[core][shortcut]") {
    // Rank 0 cannot connect its end, and the network does not report that to rank 4.
    JobOptions options = line(5);
    options.link_transports = 2;
    options.misnamed = 4;
    options.misnamed_at = 16 + 4 + 1;
    std::byte out{1}, in{};
    std::deque<SendRequest> sends(64);
    std::deque<ReceiveRequest> receives(sends.size());
    Job job(options);
    const auto send_some = [&] {
        for (std::size_t i = 0; i < sends.size(); ++i) {
            job[0].receive(receives[i], Buffer(&in, 1), 4, 0, 0);
            job[4].send(sends[i], Buffer(&out, 1), 0, 0, 0);
        }
        REQUIRE(job.run_until([&] { return receives.back().complete(); }));
    };
    send_some();
    REQUIRE(job[4].state().shortcuts().open == 1);
    for (std::size_t sent = 0; sent < 65536; sent += sends.size()) send_some();
    send_some();
    CHECK(job[4].state().shortcuts().failed == 1);
    CHECK(job[4].state().shortcuts().made == 2);  // the next attempt
    CHECK(job[4].state().shortcuts().open == 1);
}

TEST_CASE("the least recently used shortcut makes room", "[core][shortcut]") {
    JobOptions options = line(6);
    options.shortcuts = 2;
    Numbers numbers(options);
    numbers.send_and_settle(3, 8);
    numbers.send_and_settle(4, 8);
    numbers.send_and_settle(3, 1);
    CHECK(numbers.counts(0).closed == 0);
    numbers.send_and_settle(5, 8);
    CHECK(numbers.counts(0).closed == 1);
    CHECK(numbers.counts(0).open == 2);
    CHECK(numbers.counts(3).open == 1);
    CHECK(numbers.counts(4).open == 0);
    CHECK(numbers.counts(5).open == 1);
    CHECK(numbers.at_rest());
    CHECK(numbers.job().log().empty());
}

TEST_CASE("messages over a shortcut wait for messages that a busy relay delays",
          "[core][shortcut]") {
    Numbers numbers(line(4));
    Job& job = numbers.job();
    numbers.send_and_settle(3, 3);
    // These are on their way when rank 1 begins to compute, and a shortcut becomes due.
    for (int i = 0; i < 3; ++i) numbers.send(3);
    job.stop(1);
    job.settle();
    for (int i = 0; i < 200; ++i) numbers.send(3);
    job.settle();
    REQUIRE(numbers.counts(0).open == 1);
    CHECK_FALSE(numbers.complete());
    // No more lies at the receiver than there are credits.
    CHECK(job.world().in_flight() <= 4 + 4);
    job.go_on(1);
    job.settle();
    CHECK(numbers.at_rest());
}

TEST_CASE("packets that wait on a shortcut that its sender has lost are not taken twice",
          "[core][shortcut]") {
    int tried = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        INFO("seed " << seed);
        JobOptions options = line(4);
        options.seed = seed;
        // The sender hears of the death long before the receiver, or the other way round.
        options.world.down_within = sim::Time(1'000'000'000);
        Numbers numbers(options);
        Job& job = numbers.job();
        numbers.send_and_settle(3, 3);
        for (int i = 0; i < 2; ++i) numbers.send(3);
        job.stop(1);
        job.settle();
        for (int i = 0; i < 20; ++i) numbers.send(3);
        job.settle();
        REQUIRE(job.cut_shortcut(0, 3));
        job.run_until([&] { return numbers.counts(0).open + numbers.counts(3).open < 2; });
        if (numbers.counts(0).open == 0) {
            ++tried;
            // It gets what was missing and the first that came in vain before it looks again.
            job.stop(3);
            const std::uint64_t before = numbers.relayed_by(2);
            job.go_on(1);
            REQUIRE(job.run_until([&] { return numbers.relayed_by(2) == before + 3; }));
            job.world().advance(sim::Time(100'000));  // and it is there
            job.go_on(3);
        }
        job.go_on(1);
        job.settle();
        CHECK(numbers.at_rest());
    }
    CHECK(tried != 0);
}

TEST_CASE("messages to a dead rank end, both by shortcut and by relay", "[core][shortcut]") {
    SendRequest large;
    std::vector<std::byte> bytes(5000);
    ReceiveRequest never;
    std::deque<SendRequest> sends;
    Job job(line(4));
    for (int i = 0; i < 20; ++i) {
        job[0].send(sends.emplace_back(), Buffer(bytes.data(), 8), 3, 0, 0);
        job.settle();
    }
    REQUIRE(job[0].state().shortcuts().open == 1);
    job[0].receive(never, Buffer(bytes.data(), 8), 3, 0, 0);
    job[0].send(large, Buffer(bytes.data(), bytes.size()), 3, 0, 0);
    job.settle();
    job.kill(3);
    job.settle();
    CHECK(large.complete());
    CHECK(large.status().error == Error::unreachable);
    CHECK(never.status().error == Error::unreachable);
    CHECK(job[0].state().shortcuts().open == 0);
    CHECK(job[0].state().quiet());
}

TEST_CASE("a packet that must not use a shortcut ends the connection with the peer",
          "[core][shortcut]") {
    Numbers numbers(line(4));
    Job& job = numbers.job();
    numbers.send_and_settle(3, 20);
    REQUIRE(numbers.counts(3).open == 1);
    transport::PacketHeader header{};
    header.kind = std::uint8_t(GENERATE(PacketKind::data, PacketKind::link_dead, PacketKind::none));
    header.source = 0;
    header.destination = 3;
    job.world().inject(job.interface(3, direct_port_base), direct_port_base, header, {});
    job.settle();
    REQUIRE(job.log().size() >= 1);
    CHECK(job.log().front().find("does not take a shortcut") != std::string::npos);
    CHECK(numbers.counts(3).open == 0);
}

TEST_CASE("no event of shortcuts affects a message", "[core][shortcut]") {
    ShortcutRound sum;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const ShortcutRound round = run_shortcut_round(seed, 300);
        INFO("seed " << seed << ": " << round.scene);
        REQUIRE(round.failure == "");
        add(sum, round);
    }
    CHECK(sum.counts.failed != 0);
    CHECK(sum.counts.closed != 0);
    CHECK(sum.counts.resent != 0);
}

}  // namespace shortcut_test

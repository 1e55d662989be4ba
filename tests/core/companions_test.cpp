// SPDX-License-Identifier: BSD-3-Clause
// Several Runtimes in one process: each moves the others while it waits, and a thread that sleeps
// wakes for all of them.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "core/api.h"
#include "tests/core/sleeping_pair.h"

namespace torusmp::core::companions_test {
namespace {

using testing::comes_true;
using testing::Pair;

constexpr Tag tag = 5;

// Two jobs; this process is rank 0 of both.
struct Jobs {
    explicit Jobs(Pair::Threads threads) : own(threads), joined(threads) {
        own.ranks[0]->join(companions);
        joined.ranks[0]->join(companions);
    }
    ~Jobs() {
        joined.ranks[0]->leave(companions);
        own.ranks[0]->leave(companions);
    }

    Companions companions;
    Pair own, joined;
};

// A message of one job that a thread awaits in a wait of another. before: what happens in between.
template <class Before>
bool arrives(Pair& waits, Pair& moves, Before&& before) {
    Tag word = 0;
    ReceiveRequest receive;
    moves.ranks[0]->receive(receive, Buffer(&word, sizeof word), 1, 0, tag);
    std::atomic<bool> begun{false}, ended{false};
    std::thread waiting([&] {
        begun = true;
        waits.ranks[0]->wait_until([&] { return receive.complete(); }, "the test");
        ended = true;
    });
    while (!begun) std::this_thread::yield();
    before();
    moves.send_to_first(tag);
    const bool came = comes_true([&] { return ended.load(); });
    waiting.join();
    return came && word == tag;
}

void sleep_a_little() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace

TEST_CASE("a wait ends by a message of a companion", "[companions]") {
    for (const auto threads : {Pair::one, Pair::several}) {
        Jobs jobs(threads);
        for (int round = 0; round < 20; ++round) {
            CHECK(arrives(jobs.own, jobs.joined, [] {}));
            CHECK(arrives(jobs.joined, jobs.own, sleep_a_little));
            CHECK(arrives(jobs.own, jobs.joined, sleep_a_little));
            CHECK(arrives(jobs.own, jobs.own, sleep_a_little));  // by its late bell
        }
    }
}

TEST_CASE("a Runtime that is always busy does not starve its companions", "[companions]") {
    for (const auto threads : {Pair::one, Pair::several}) {
        Jobs jobs(threads);
        Tag word = 0;
        ReceiveRequest receive;
        jobs.joined.ranks[0]->receive(receive, Buffer(&word, sizeof word), 1, 0, tag);
        jobs.joined.send_to_first(tag);
        int turns = 0;
        const auto done = [&] {
            jobs.own.send_to_first(tag);  // the next poll takes it
            return receive.complete() || ++turns == 1000;
        };
        jobs.own.ranks[0]->wait_until(done, "the test");
        CHECK(receive.complete());
    }
}

TEST_CASE("a Runtime leaves the list of companions while a thread sleeps for it", "[companions]") {
    Jobs jobs(Pair::several);
    for (int round = 0; round < 20; ++round) {
        auto third = std::make_unique<Pair>(Pair::several);
        third->ranks[0]->join(jobs.companions);
        CHECK(arrives(jobs.own, jobs.joined, [&] {
            sleep_a_little();
            third->ranks[0]->leave(jobs.companions);
            third.reset();
        }));
    }
}

// The thread must get up to sleep for the companions, too. It would sleep again at once: in many
// rounds it does so before the joining thread has looked.
TEST_CASE("a Runtime joins companions while a thread sleeps in it", "[companions]") {
    for (int round = 0; round < 100; ++round) {
        Pair pair;
        Companions companions;
        Tag word = 0;
        ReceiveRequest receive;
        pair.ranks[0]->receive(receive, Buffer(&word, sizeof word), 1, 0, tag);
        std::atomic<bool> joined{false};
        std::thread waiting([&] { pair.ranks[0]->wait(receive); });
        const bool slept = comes_true([&] { return pair.beds[0].occupied.load(); });
        std::thread joining([&] {
            pair.ranks[0]->join(companions);
            joined = true;
        });
        const bool came = comes_true([&] { return joined.load(); });
        pair.send_to_first(tag);
        waiting.join();
        joining.join();
        REQUIRE(slept);
        REQUIRE(came);
        REQUIRE(word == tag);
        pair.ranks[0]->leave(companions);
    }
}

TEST_CASE("two threads wait in two Runtimes", "[companions]") {
    Jobs jobs(Pair::several);
    for (int round = 0; round < 50; ++round) {
        // In some rounds both sleep, and each sleeps beside the other.
        const auto before = [&] {
            if (round % 10 == 0) sleep_a_little();
        };
        std::array<std::atomic<bool>, 2> came{};
        std::thread other([&] { came[0] = arrives(jobs.own, jobs.joined, before); });
        came[1] = arrives(jobs.joined, jobs.own, before);
        other.join();
        CHECK(came[0]);
        CHECK(came[1]);
    }
}

}  // namespace torusmp::core::companions_test

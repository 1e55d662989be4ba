// SPDX-License-Identifier: BSD-3-Clause
// Threads that sleep in waits of one rank, and the events that must wake them. No timer ends a
// sleep here, so a wait with a lost wake-up does not end.
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/api.h"
#include "tests/core/sleeping_pair.h"

namespace torusmp::core::wake_test {
namespace {

using testing::comes_true;
using testing::Pair;

// A thread of rank 0 that does some work, and sleeps in it.
class Sleeper {
  public:
    template <class Work>
    Sleeper(Pair& pair, Work work)
        : pair_(pair), thread_([this, work = std::move(work)] {
              id_ = int(syscall(SYS_gettid));
              work();
              done_ = true;
          }) {}
    ~Sleeper() {
        if (!done_) wake_up();
        thread_.join();
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    // Returns once it sleeps, for all or until another thread has moved something.
    void sleeps() {
        REQUIRE(comes_true([&] { return id_ != 0 && (done_ || is_asleep()); }));
        REQUIRE(!done_);
    }
    bool ends() {
        return comes_true([&] { return done_.load(); });
    }

  private:
    // Several times in turn: it may also stand in line for the lock.
    bool is_asleep() const {
        for (int look = 0; look < 20; ++look) {
            std::ifstream file("/proc/self/task/" + std::to_string(id_) + "/stat");
            std::string text;
            std::getline(file, text);
            const std::size_t end = text.rfind(')');
            if (end == std::string::npos || text.compare(end, 3, ") S") != 0) return false;
            std::this_thread::yield();
        }
        return true;
    }
    // The test has failed; it ends nevertheless, so that others can run.
    void wake_up() {
        pair_.beds[0].let_go();
        const bool ended = comes_true([&] {
            pair_.ranks[0]->peer_died(1, "the test has failed");
            pair_.ranks[0]->interrupt();
            return done_.load();
        });
        if (ended) return;
        std::fputs("wake_test: a thread sleeps for ever\n", stderr);
        std::abort();
    }

    Pair& pair_;
    std::atomic<int> id_{0};
    std::atomic<bool> done_{false};
    std::thread thread_;
};

// A receive of rank 0, and the thread that waits for it.
struct Receiver {
    Receiver(Pair& pair, Tag tag, Rank source = 1) : runtime(*pair.ranks[0]) {
        runtime.receive(request, Buffer(&in, sizeof in), source, 0, tag);
        sleeper.emplace(pair, [this] { runtime.wait(request); });
    }
    void sleeps() { sleeper->sleeps(); }
    bool ends() { return sleeper->ends(); }

    Runtime& runtime;
    Tag in = -1;
    ReceiveRequest request;
    std::optional<Sleeper> sleeper;
};

// Does something while one thread of rank 0 sleeps for all and, perhaps, another one until anybody
// moves something; `act` is given the receive of the thread that must wake up.
template <class Act>
void check_wakes(Rank source, Act act) {
    SECTION("the thread that sleeps for all") {
        Pair pair;
        Receiver waiting(pair, 1, source);
        waiting.sleeps();
        act(pair, waiting.request);
        CHECK(waiting.ends());
    }
    SECTION("a thread that sleeps beside it") {
        Pair pair;
        Receiver first(pair, 0);
        first.sleeps();
        Receiver waiting(pair, 1, source);
        waiting.sleeps();
        act(pair, waiting.request);
        CHECK(waiting.ends());
        pair.send_to_first(0);
        CHECK(first.ends());
    }
}

}  // namespace

TEST_CASE("a receive that another thread cancels ends its wait") {
    check_wakes(1, [](Pair& pair, ReceiveRequest& request) { pair.ranks[0]->cancel(request); });
}

TEST_CASE("a message that another thread sends to this rank ends a wait") {
    check_wakes(0, [](Pair& pair, ReceiveRequest&) {
        static int out = 1;
        static SendRequest send;
        pair.ranks[0]->send(send, Buffer(&out, sizeof out), 0, 0, 1);
    });
}

TEST_CASE("a message that another rank sends ends a wait, whichever thread sleeps for all") {
    check_wakes(1, [](Pair& pair, ReceiveRequest&) { pair.send_to_first(1); });
}

TEST_CASE("a death that another thread reports ends the waits for that rank") {
    for (const bool beside : {false, true}) {
        Pair pair;
        Receiver first(pair, 0);
        first.sleeps();
        std::optional<Receiver> second;
        if (beside) {
            second.emplace(pair, 1);
            second->sleeps();
        }
        pair.ranks[0]->peer_died(1, "a test");
        CHECK(first.ends());
        CHECK(first.request.status().error == Error::unreachable);
        if (beside) CHECK(second->ends());
    }
}

// The thread that goes to sleep silences the bell that rings for such a report.
TEST_CASE("a death that is reported as this rank goes to sleep ends its wait") {
    for (const auto threads : {Pair::one, Pair::several}) {
        Pair pair(threads);
        Runtime& runtime = *pair.ranks[0];
        pair.on_interrupt = [&] { runtime.peer_died(1, "a test"); };
        pair.beds[0].before_sleep = [&] { runtime.interrupt(); };
        Receiver waiting(pair, 0);
        CHECK(waiting.ends());
        CHECK(waiting.request.status().error == Error::unreachable);
    }
}

TEST_CASE("a wait ends for an event that the program itself has caused") {
    Pair pair;
    Runtime& runtime = *pair.ranks[0];
    std::atomic<bool> happened{false};
    const auto wait = [&] { runtime.wait_until([&] { return happened.load(); }, "a test"); };
    Sleeper first(pair, wait);
    first.sleeps();
    Sleeper second(pair, wait);
    second.sleeps();
    happened = true;
    runtime.recheck();
    CHECK(first.ends());
    CHECK(second.ends());
}

TEST_CASE("a thread whose wait ends passes the watch to another thread") {
    Pair pair;
    Receiver first(pair, 0);
    first.sleeps();
    Receiver second(pair, 1);
    second.sleeps();
    pair.send_to_first(0);
    CHECK(first.ends());
    second.sleeps();
    pair.send_to_first(1);
    CHECK(second.ends());
}

// The thread that sleeps for all may long wait for a core after it was woken.
TEST_CASE("a message that a third thread has received wakes the thread that waits for it") {
    Pair pair;
    Receiver first(pair, 0);
    first.sleeps();
    Receiver second(pair, 1);
    second.sleeps();
    pair.beds[0].held = true;
    pair.send_to_first(1);
    while (!second.request.complete()) pair.ranks[0]->progress();
    CHECK(second.ends());
    pair.beds[0].let_go();
    pair.send_to_first(0);
    CHECK(first.ends());
}

TEST_CASE("a task that watches memory is announced by the thread that already sleeps") {
    struct Looking final : Task {
        bool advance() override { return finished; }
        void report(Waits&) const override {}
        bool looks() const override { return true; }
        void set_asleep(bool asleep) override { announced = asleep; }
        bool finished = false;
        std::atomic<bool> announced{false};
    } task;
    Pair pair;
    Runtime& runtime = *pair.ranks[0];
    Receiver waiting(pair, 0);
    waiting.sleeps();
    runtime.add_task(task);
    CHECK(comes_true([&] { return task.announced.load(); }));
    {
        const auto lock = runtime.lock();
        task.finished = true;
    }
    runtime.recheck();
    pair.send_to_first(0);
    CHECK(waiting.ends());
    runtime.progress();
}

TEST_CASE("the progress thread ends with the runtime, even if it sleeps") {
    Pair pair(Pair::progress);
    REQUIRE(comes_true([&] { return pair.beds[0].occupied.load(); }));
    std::atomic<bool> ended{false};
    std::thread ending([&] {
        pair.ranks[0]->say_goodbye();
        ended = true;
    });
    CHECK(comes_true([&] { return ended.load(); }));
    if (!ended) std::abort();  // it cannot be ended any more
    ending.join();
}

TEST_CASE("a completion by the progress thread always wakes the waiting thread") {
    constexpr int rounds = 20000;
    Pair pair(Pair::progress);
    std::array<std::atomic<int>, 2> right{};
    std::array<std::atomic<bool>, 2> over{};
    const auto play = [&](Rank me) {
        Runtime& runtime = *pair.ranks[std::size_t(me)];
        for (int round = 0; round < rounds; ++round) {
            int out = round;
            int in = -1;
            SendRequest send;
            ReceiveRequest receive;
            const Buffer to(&out, sizeof out);
            const Buffer from(&in, sizeof in);
            // Both ends wait at once, so that progress threads and waits meet in every order.
            runtime.receive(receive, from, 1 - me, 0, 0);
            runtime.send(send, to, 1 - me, 0, 0);
            runtime.wait(receive);
            runtime.wait(send);
            if (in == round) ++right[std::size_t(me)];
        }
        over[std::size_t(me)] = true;
    };
    std::array<std::thread, 2> players{std::thread([&] { play(0); }),
                                       std::thread([&] { play(1); })};
    // Rounds take microseconds, so one that makes no progress for this long has lost a wake-up.
    for (int before = -1; !(over[0] && over[1]);) {
        const int now = right[0] + right[1];
        if (comes_true([&] { return right[0] + right[1] != now || (over[0] && over[1]); }))
            continue;
        if (std::exchange(before, now) != now) continue;
        std::fputs("wake_test: a waiting thread sleeps for ever\n", stderr);
        std::abort();
    }
    for (std::thread& player : players) player.join();
    CHECK(right[0] == rounds);
    CHECK(right[1] == rounds);
}

}  // namespace torusmp::core::wake_test

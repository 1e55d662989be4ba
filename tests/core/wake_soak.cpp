// SPDX-License-Identifier: BSD-3-Clause
// wake_soak SEED ROUNDS: threads of one rank that wait for events: messages of another rank and of
// their own, cancelled receives, probes, and in the end the death of the other rank. No timer ends
// a sleep, so a round with a lost wake-up does not end. Its seed is printed.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "core/api.h"
#include "tests/core/sleeping_pair.h"

namespace torusmp::core::wake_soak {
namespace {

using testing::Pair;

constexpr int threads = 4;
constexpr int steps = 40;

std::atomic<int> failures{0};

void check(bool right, const char* what) {
    if (right) return;
    std::fprintf(stderr, "wake_soak: %s\n", what);
    ++failures;
}

struct Round {
    explicit Round(unsigned seed) : random(seed) {}

    // A receive that the next thread cancels, sooner or later than this one waits for it.
    void cancelled(int thread, unsigned draw) {
        int in = 0;
        ReceiveRequest request;
        ours().receive(request, Buffer(&in, sizeof in), draw % 2 == 0 ? 1 : any_source, 1, thread);
        offered[std::size_t(thread)] = &request;
        offered[std::size_t(thread)].notify_one();
        auto& theirs = offered[std::size_t((thread + 1) % threads)];
        theirs.wait(nullptr);
        ours().cancel(*theirs.exchange(nullptr));
        ours().wait(request);
        check(request.status().error == Error::cancelled, "a receive was not cancelled");
    }
    void to_oneself(int thread, int step) {
        int in = -1;
        int out = step;
        SendRequest send;
        ReceiveRequest receive;
        ours().send(send, Buffer(&out, sizeof out), 0, 2, (thread + 1) % threads);
        ours().receive(receive, Buffer(&in, sizeof in), 0, 2, thread);
        ours().wait(receive);
        ours().wait(send);
        check(in == step, "a message to oneself is wrong");
    }
    void from_the_other(int thread, int step) {
        int in = -1;
        ReceiveRequest receive;
        ours().receive(receive, Buffer(&in, sizeof in), 1, 3, thread);
        ours().wait(receive);
        check(in == step, "a message is wrong");
    }
    void probed(int thread, int step) {
        ours().wait_until([&] { return ours().probe(1, 4, thread).has_value(); }, "a probe");
        int in = -1;
        ReceiveRequest receive;
        ours().receive(receive, Buffer(&in, sizeof in), 1, 4, thread);
        ours().wait(receive);
        check(in == step, "a message that was probed is wrong");
    }
    // The same for all threads of a round.
    enum What : unsigned { cancels, oneself, other, probes, kinds };

    void play(int thread, const std::vector<unsigned>& script) {
        for (int step = 0; step < steps; ++step) {
            const unsigned draw = script[std::size_t(step)];
            switch (What(draw % kinds)) {
                case cancels:
                    cancelled(thread, draw / kinds);
                    break;
                case oneself:
                    to_oneself(thread, step);
                    break;
                case other:
                    from_the_other(thread, step);
                    break;
                case probes:
                    probed(thread, step);
                    break;
                case kinds:
                    break;
            }
        }
        int in = 0;
        ReceiveRequest last;
        ours().receive(last, Buffer(&in, sizeof in), thread % 2 == 0 ? 1 : any_source, 5, thread);
        ++arrived;
        arrived.notify_one();
        ours().wait(last);
        check(last.status().error == Error::unreachable, "a wait did not end with a death");
    }
    void serve(const std::vector<unsigned>& script) {
        Runtime& runtime = *pair.ranks[1];
        for (int step = 0; step < steps; ++step) {
            const unsigned what = script[std::size_t(step)] % kinds;
            if (what != other && what != probes) continue;
            for (int thread = 0; thread < threads; ++thread) {
                SendRequest send;
                runtime.send(send, Buffer(&step, sizeof step), 0, what == other ? 3 : 4, thread);
                runtime.wait(send);
            }
        }
    }
    void run() {
        std::vector<unsigned> script(steps);
        for (unsigned& draw : script) draw = unsigned(random());
        const bool at_bell = random() % 2 == 0;
        if (at_bell) pair.on_interrupt = [this] { ours().peer_died(1, "a test"); };
        std::vector<std::thread> all;
        all.emplace_back([&] { serve(script); });
        for (int thread = 0; thread < threads; ++thread)
            all.emplace_back([this, thread, &script] { play(thread, script); });
        for (int now = arrived; now != threads; now = arrived) arrived.wait(now);
        for (auto spins = random() % 2000; spins != 0; --spins)
            std::atomic_signal_fence(std::memory_order_seq_cst);
        at_bell ? ours().interrupt() : ours().peer_died(1, "a test");
        for (std::thread& thread : all) thread.join();
    }
    Runtime& ours() { return *pair.ranks[0]; }

    std::minstd_rand random;
    Pair pair;
    std::array<std::atomic<ReceiveRequest*>, threads> offered{};
    std::atomic<int> arrived{0};
};

int soak(unsigned seed, int rounds) {
    std::atomic<unsigned> now{seed};
    std::atomic<bool> over{false};
    std::thread guard([&] {
        while (!over) {
            const unsigned before = now;
            if (testing::comes_true([&] { return over || now != before; })) continue;
            std::fprintf(stderr, "wake_soak: the round of seed %u does not end\n", before);
            std::abort();
        }
    });
    for (int round = 0; round < rounds && failures == 0; ++round, ++now) Round(now).run();
    over = true;
    guard.join();
    if (failures != 0) std::fprintf(stderr, "wake_soak: failed in the round of seed %u\n", now - 1);
    return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace torusmp::core::wake_soak

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: wake_soak SEED ROUNDS\n", stderr);
        return 2;
    }
    return torusmp::core::wake_soak::soak(unsigned(std::atoi(argv[1])), std::atoi(argv[2]));
}

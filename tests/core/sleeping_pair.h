// SPDX-License-Identifier: BSD-3-Clause
// Two ranks of this process over shared memory, one or both with several threads. No timer ends a
// sleep: after a lost wake-up, the wait does not end.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/api.h"
#include "core/settings.h"
#include "core/transport/shm/interface.h"
#include "tests/core/transport/around.h"

namespace torusmp::core::testing {

using transport::Clock;

// A wait that lasts longer has not been woken: some thousand times what that takes.
inline constexpr std::chrono::seconds wake_limit(20);

template <class Done>
bool comes_true(Done&& done) {
    const auto end = Clock::now() + wake_limit;
    while (!done()) {
        if (Clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return true;
}

// A rank's interface, which shows the thread that sleeps in it.
class Bed final : public transport::testing::Around {
  public:
    struct State {
        std::atomic<bool> occupied{false};
        std::atomic<bool> held{false};         // whoever wakes up does not get up yet
        std::function<void()> before_sleep{};  // called once, after the last poll

        void let_go() {
            held = false;
            held.notify_all();
        }
    };
    Bed(std::unique_ptr<Interface> inside, State& state)
        : Around(std::move(inside)), state_(state) {}

    void prepare_sleep() override {
        if (const auto call = std::exchange(state_.before_sleep, {})) call();
        Around::prepare_sleep();
    }
    void sleep(Clock::time_point deadline) override {
        state_.occupied = true;
        Around::sleep(deadline);
        state_.held.wait(true);
        state_.occupied = false;
    }

  private:
    State& state_;
};

// Two ranks of a ring, of which the first has several threads.
struct Pair {
    enum Threads { one, several, progress };
    // `change` may change the options of both.
    explicit Pair(Threads threads = several, const std::function<void(Options&)>& change = {}) {
        for (const Rank rank : {0, 1}) ranks[std::size_t(rank)] = make(rank, threads, change);
        const std::vector<std::vector<std::byte>> addresses{ranks[0]->address(),
                                                            ranks[1]->address()};
        for (const auto& rank : ranks) rank->connect(addresses);
        for (const auto& rank : ranks) rank->await_links(false);
    }

    std::unique_ptr<Runtime> make(Rank rank, Threads threads,
                                  const std::function<void(Options&)>& change = {}) {
        Options options{.torus = routing::Torus(std::array{2}),
                        .rank = rank,
                        .direct = {0, 1},
                        .log = [](std::string_view) {},
                        .name_of = {}};
        options.threads = threads == several;
        if (threads == progress) options.set(setting::progress, ProgressMode::thread);
        options.set(setting::spin, std::chrono::nanoseconds(0));
        options.set(setting::watchdog, std::chrono::nanoseconds(0));
        options.publish_after = std::chrono::hours(1);
        options.on_interrupt = [this] {
            if (const auto call = std::exchange(on_interrupt, {})) call();
        };
        if (change) change(options);
        return std::make_unique<Runtime>(
            std::move(options), [&](const std::vector<transport::PortOptions>& ports) {
                auto shm = std::make_unique<transport::shm::ShmInterface>(
                    ports, transport::shm::InterfaceOptions{});
                return std::make_unique<Bed>(std::move(shm), beds[std::size_t(rank)]);
            });
    }
    // To rank 0, from the other.
    void send_to_first(Tag tag) {
        SendRequest send;
        ranks[1]->send(send, Buffer(&tag, sizeof tag), 0, 0, tag);
        ranks[1]->wait(send);
    }

    std::array<Bed::State, 2> beds;
    std::function<void()> on_interrupt;  // of rank 0; called once
    std::array<std::unique_ptr<Runtime>, 2> ranks;
};

}  // namespace torusmp::core::testing

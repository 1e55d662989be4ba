// SPDX-License-Identifier: BSD-3-Clause
// Two threads of one rank, the program's and the progress thread, wait for the same news: what one
// of them moves must never leave the other asleep. Over shared memory, with real sleeping.
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>

#include "core/api.h"
#include "core/transport/shm/interface.h"

namespace torusmp::core {
namespace {

std::unique_ptr<Runtime> make(Rank rank) {
    Options options{.torus = routing::Torus(std::array{2}),
                    .rank = rank,
                    .direct = {0, 1},
                    .log = {},
                    .name_of = {}};
    options.progress_thread = true;
    options.spin = std::chrono::nanoseconds(0);
    return std::make_unique<Runtime>(std::move(options),
                                     [](const std::vector<transport::PortOptions>& ports) {
                                         return std::make_unique<transport::shm::ShmInterface>(
                                             ports, transport::shm::InterfaceOptions{});
                                     });
}

// A lost wake-up shows as a test that does not end: nothing else would wake the sleeper.
TEST_CASE("what the progress thread completes never leaves a waiting thread asleep") {
    constexpr int rounds = 20000;
    const std::array<std::unique_ptr<Runtime>, 2> ranks{make(0), make(1)};
    const std::vector<std::vector<std::byte>> addresses{ranks[0]->address(), ranks[1]->address()};
    for (const auto& rank : ranks) rank->connect(addresses);
    for (const auto& rank : ranks) rank->await_links(false);

    std::array<int, 2> right{};
    const auto play = [&](Rank me) {
        Runtime& runtime = *ranks[std::size_t(me)];
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
    };
    std::thread other([&] { play(1); });
    play(0);
    other.join();
    CHECK(right[0] == rounds);
    CHECK(right[1] == rounds);
}

}  // namespace
}  // namespace torusmp::core

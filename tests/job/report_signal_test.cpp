// SPDX-License-Identifier: BSD-3-Clause
// The signal that asks for a report, against the end of the Runtime that makes it.
#include <signal.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "job/report_signal.h"

namespace torusmp::job {
namespace {

// An interface whose wake() lasts until the test lets it go.
class Door final : public transport::Interface {
  public:
    struct State {
        std::atomic<bool> inside{false};
        std::atomic<bool> open{false};
    };
    explicit Door(State& state) : Interface("door", {}), state_(state) {}

    std::vector<std::byte> address() const override { return {}; }
    transport::Channel& connect(transport::ConstBytes, const transport::ChannelOptions&) override {
        throw std::runtime_error("a door leads nowhere");
    }
    int poll(transport::Sink&) override { return 0; }
    transport::RemoteMemory register_memory(transport::Bytes, const transport::Channel*) override {
        return {};
    }
    void* allocate(std::size_t, std::size_t) override { return nullptr; }
    void free(void*) override {}
    void prepare_sleep() override {}
    void cancel_sleep() override {}
    void sleep(transport::Clock::time_point) override {}
    void wake() noexcept override {
        state_.inside = true;
        while (!state_.open) std::this_thread::yield();
    }

  private:
    State& state_;
};

TEST_CASE("a Runtime outlives the handlers of SIGUSR1 that run in other threads") {
    Door::State door;
    core::Runtime runtime(
        core::Options{
            .torus = routing::Torus(std::array{1}), .direct = {0}, .log = {}, .name_of = {}},
        [&](const auto&) { return std::make_unique<Door>(door); });
    std::optional<ReportSignal> signal(std::in_place, runtime);
    std::thread handling([] { raise(SIGUSR1); });
    while (!door.inside) std::this_thread::yield();

    std::atomic<bool> ended{false};
    std::thread ending([&] {
        signal.reset();
        ended = true;
    });
    // However long this takes, it cannot have ended; if it did not wait it would have.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    CHECK(!ended);
    door.open = true;
    handling.join();
    ending.join();
    CHECK(ended);
    // A later signal neither reaches the Runtime nor ends the process.
    door.inside = false;
    raise(SIGUSR1);
    CHECK(!door.inside);
}

}  // namespace
}  // namespace torusmp::job

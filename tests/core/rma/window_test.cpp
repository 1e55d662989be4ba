// SPDX-License-Identifier: BSD-3-Clause
// Windows when something goes wrong: ranks that die, holders of locks among them, and packets that
// no origin sends.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/job.h"
#include "core/rma/windows.h"

namespace torusmp::core::testing::window_test {

using rma::Action;
using rma::Operation;

constexpr std::size_t bytes = 256;

// A job on a ring with a window on each rank, reached by packets alone.
struct Scene {
    explicit Scene(int ranks, int per_host = 1)
        : memory(std::size_t(ranks)), controls(std::size_t(ranks)), windows(std::size_t(ranks)) {
        JobOptions options = tight_torus({ranks}, 7);
        options.per_host = per_host;
        job.emplace(options);
        for (int rank = 0; rank < ranks; ++rank) {
            rma::Window& window = windows[std::size_t(rank)];
            window.self = rank;
            window.find = [](std::uint16_t, rma::Arithmetic& found) {
                found.element = 8;
                return true;
            };
            window.parts.resize(std::size_t(ranks));
            for (int other = 0; other < ranks; ++other) {
                window.members.push_back(other);
                window.parts[std::size_t(other)].bytes = bytes;
            }
            window.parts[std::size_t(rank)].memory = memory[std::size_t(rank)].data();
            window.parts[std::size_t(rank)].control = &controls[std::size_t(rank)];
            (*job)[rank].windows().add(window);
        }
        for (auto& window : windows)
            for (int other = 0; other < ranks; ++other)
                window.parts[std::size_t(other)].id = windows[std::size_t(other)].id;
    }
    void start(Operation& operation, Rank origin, Action action, int target) {
        operation.window_ = &windows[std::size_t(origin)];
        operation.action = action;
        operation.target = target;
        (*job)[origin].windows().start(operation);
    }

    std::vector<std::array<std::byte, bytes>> memory;
    std::vector<rma::Control> controls;
    std::vector<rma::Window> windows;
    std::optional<Job> job;
};

TEST_CASE("A lock of a rank that dies is given to the next", "[windows]") {
    Operation first, second;
    Scene scene(3);
    scene.start(first, 1, Action::lock_exclusive, 0);
    REQUIRE(scene.job->run_until([&] { return first.complete(); }));
    scene.start(second, 2, Action::lock_exclusive, 0);
    scene.job->settle();
    REQUIRE(!second.complete());
    scene.job->kill(1);
    REQUIRE(scene.job->run_until([&] { return second.complete(); }));
    REQUIRE(second.status().error == Error::none);
    REQUIRE(scene.controls[0].exclusive_holder() == 2);
}

TEST_CASE("Shared locks of a rank that dies are given up", "[windows]") {
    Operation first, again, second;
    Scene scene(3);
    scene.start(first, 1, Action::lock_shared, 0);
    scene.start(again, 1, Action::lock_shared, 0);
    REQUIRE(scene.job->run_until([&] { return first.complete() && again.complete(); }));
    scene.start(second, 2, Action::lock_exclusive, 0);
    scene.job->settle();
    REQUIRE(!second.complete());
    scene.job->kill(1);
    REQUIRE(scene.job->run_until([&] { return second.complete(); }));
}

TEST_CASE("Accesses to a rank that dies end with an error", "[windows]") {
    std::array<std::byte, bytes> room{};
    std::vector<std::unique_ptr<Operation>> gets;
    Operation late;
    Scene scene(4);
    scene.job->stop(1);
    for (int i = 0; i < 40; ++i) {  // more than may be unanswered
        Operation& get = *gets.emplace_back(std::make_unique<Operation>());
        get.place = {0, bytes, nullptr};
        get.result = {room.data(), bytes};
        scene.start(get, 0, Action::get, 1);
    }
    scene.job->settle();
    scene.job->kill(1);
    REQUIRE(scene.job->run_until([&] { return scene.windows[0].open == 0; }));
    for (const auto& get : gets) REQUIRE(get->status().error == Error::unreachable);
    late.place = {0, 8, nullptr};
    late.data = {room.data(), 8};
    scene.start(late, 0, Action::put, 1);
    REQUIRE(late.complete());
    REQUIRE(late.status().error == Error::unreachable);
    REQUIRE(scene.windows[0].dealings[1].error == Error::unreachable);
}

TEST_CASE("A packet cannot reach memory outside of a window", "[windows]") {
    std::array<std::byte, bytes> room{};
    Operation put;
    Scene scene(2);
    // The origin's own check is left out.
    put.place = {bytes - 4, 8, nullptr};
    put.data = {room.data(), 8};
    std::memset(room.data(), 0x55, bytes);
    const auto before = scene.memory[1];
    scene.start(put, 0, Action::put, 1);
    scene.job->settle();
    REQUIRE(scene.memory[1] == before);
    const auto& log = scene.job->log();
    REQUIRE(std::any_of(log.begin(), log.end(), [](const std::string& line) {
        return line.find("that the protocol does not allow") != std::string::npos;
    }));
}

TEST_CASE("A packet for a window that was freed is refused", "[windows]") {
    std::array<std::byte, bytes> room{};
    Operation put;
    Scene scene(2);
    (*scene.job)[1].windows().remove(scene.windows[1]);
    put.place = {0, 8, nullptr};
    put.data = {room.data(), 8};
    scene.start(put, 0, Action::put, 1);
    scene.job->settle();
    const auto& log = scene.job->log();
    REQUIRE(std::any_of(log.begin(), log.end(), [](const std::string& line) {
        return line.find("that the protocol does not allow") != std::string::npos;
    }));
}

}  // namespace torusmp::core::testing::window_test

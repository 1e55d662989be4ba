// SPDX-License-Identifier: BSD-3-Clause
// Windows when something goes wrong: ranks that die, holders of locks among them, windows that are
// revoked, and packets that no origin sends.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/job.h"
#include "core/rma/windows.h"

namespace torusmp::core::testing::window_test {

using rma::Action;
using rma::Operation;

constexpr std::size_t bytes = 8192;  // beyond the limit for messages

// A job on a ring with a window on each rank, reached by packets alone; the locks are mapped by all
// ranks, as on one host, if `together`.
struct Scene {
    explicit Scene(int ranks, bool together = false, std::uint64_t seed = 7)
        : memory(std::size_t(ranks)) {
        JobOptions options = tight_torus({ranks}, seed);
        job.emplace(options);
        make(ranks, together);
    }
    void make(int ranks, bool together = false) {
        windows = std::vector<rma::Window>(std::size_t(ranks));
        controls.clear();
        for (int rank = 0; rank < ranks; ++rank) controls.emplace_back(std::uint32_t(ranks));
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
            window.context = 77;
            for (int other = 0; other < ranks; ++other) {
                if (other != rank && !together) continue;
                window.parts[std::size_t(other)].control = &controls[std::size_t(other)];
                if (together) window.mates.push_back(other);
            }
            window.place = together ? std::uint32_t(rank) : 0;
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

    // What a rank does when it hears of the revocation.
    void revoke(Rank rank) {
        const auto lock = (*job)[rank].lock();
        (*job)[rank].survivors().cancel_all(77, 1);
        (*job)[rank].windows().revoke(windows[std::size_t(rank)]);
    }

    std::vector<std::array<std::byte, bytes>> memory;
    std::deque<rma::Control> controls;
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

TEST_CASE("A shared lock that a dead rank of the same host took itself is released", "[windows]") {
    Operation second;
    Scene scene(3, true);
    REQUIRE((*scene.job)[1].windows().lock_now(scene.windows[1], 0, false));
    REQUIRE((*scene.job)[0].windows().lock_now(scene.windows[0], 0, false));
    scene.start(second, 2, Action::lock_exclusive, 0);
    scene.job->settle();
    (*scene.job)[0].windows().unlock(scene.windows[0], 0, false);
    scene.job->settle();
    REQUIRE(!second.complete());  // rank 1 still holds it
    const std::vector<std::string> notes = (*scene.job)[2].state().waits().notes;
    REQUIRE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
        return note.find("rank 2 waits for the lock of a window of rank 0, held by rank 1") !=
               std::string::npos;
    }));
    scene.job->kill(1);
    REQUIRE(scene.job->run_until([&] { return second.complete(); }));
    REQUIRE(second.status().error == Error::none);
    REQUIRE(scene.controls[0].exclusive_holder() == 2);
}

TEST_CASE("Ranks that wait for a shared lock wait only for exclusive holders", "[windows]") {
    // Two ranks that hold a lock each and want the other's, and a rank that waits for each lock
    // exclusively: if those delayed the shared ones, all ranks would wait for ever.
    std::array<Operation, 6> locks;
    Scene scene(6);
    scene.start(locks[0], 2, Action::lock_shared, 0);
    scene.start(locks[1], 3, Action::lock_shared, 1);
    REQUIRE(scene.job->run_until([&] { return locks[0].complete() && locks[1].complete(); }));
    scene.start(locks[2], 4, Action::lock_exclusive, 0);
    scene.start(locks[3], 5, Action::lock_exclusive, 1);
    scene.job->settle();
    scene.start(locks[4], 2, Action::lock_shared, 1);
    scene.start(locks[5], 3, Action::lock_shared, 0);
    REQUIRE(scene.job->run_until([&] { return locks[4].complete() && locks[5].complete(); }));
    REQUIRE(!locks[2].complete());
    REQUIRE(!locks[3].complete());
    // As their names in the loop: 2 and 3 give up both, then the others get theirs.
    std::array<Operation, 4> unlocks;
    for (int i = 0; i < 4; ++i)
        scene.start(unlocks[std::size_t(i)], 2 + i / 2, Action::unlock_shared, i % 2);
    REQUIRE(scene.job->run_until([&] { return locks[2].complete() && locks[3].complete(); }));
}

TEST_CASE("Large puts and gets arrive as messages, before the flush that follows", "[windows]") {
    std::vector<std::byte> from(bytes), to(bytes);
    for (std::size_t i = 0; i < bytes; ++i) from[i] = std::byte(i * 7);
    Operation put, flush, get;
    Scene scene(3);
    put.place = {0, bytes, nullptr};
    put.data = {from.data(), bytes};
    scene.start(put, 0, Action::put, 1);
    REQUIRE(put.action == Action::put_message);
    REQUIRE(scene.job->run_until([&] { return put.complete(); }));
    REQUIRE(std::equal(from.begin(), from.end(), scene.memory[1].begin()));
    get.place = {0, bytes, nullptr};
    get.result = {to.data(), bytes};
    scene.start(get, 2, Action::get, 1);
    REQUIRE(get.action == Action::get_message);
    REQUIRE(scene.job->run_until([&] { return get.complete(); }));
    REQUIRE(from == to);
}

TEST_CASE("A large put or get ends with an error if the other rank dies", "[windows]") {
    const bool puts = GENERATE(true, false);
    std::vector<std::byte> room(bytes);
    std::array<Operation, 40> accesses;  // more than may be unanswered
    Scene scene(3);
    scene.job->stop(1);
    for (Operation& access : accesses) {
        access.place = {0, bytes, nullptr};
        (puts ? access.data : access.result) = {room.data(), bytes};
        scene.start(access, 0, puts ? Action::put : Action::get, 1);
    }
    scene.job->settle();
    scene.job->kill(1);
    REQUIRE(scene.job->run_until([&] { return scene.windows[0].open == 0; }));
    for (const Operation& access : accesses)
        REQUIRE(access.status().error == Error::unreachable);
}

TEST_CASE("An origin that dies in a large put leaves the target as it was before", "[windows]") {
    std::vector<std::byte> room(bytes);
    Operation put, lock;
    Scene scene(3);
    scene.job->stop(1);
    put.place = {0, bytes, nullptr};
    put.data = {room.data(), bytes};
    scene.start(put, 0, Action::put, 1);
    scene.job->settle();
    scene.job->kill(0);
    scene.job->go_on(1);
    scene.start(lock, 2, Action::lock_exclusive, 1);
    REQUIRE(scene.job->run_until([&] { return lock.complete(); }));
    REQUIRE(scene.windows[1].dealings[0].arriving == 0);
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

TEST_CASE("What is under way in a window ends when the ranks hear of its revocation", "[windows]") {
    const auto seed = std::uint64_t(GENERATE(range(1, 201)));
    constexpr int ranks = 4;
    static constexpr Action actions[] = {Action::put,           Action::get,
                                         Action::accumulate,    Action::get_accumulate,
                                         Action::flush,         Action::lock_shared,
                                         Action::lock_exclusive};
    sim::Random random(seed);
    const bool together = random.below(2) == 0;
    std::array<std::byte, bytes> room{};
    std::deque<Operation> operations;
    Scene scene(ranks, together, seed);
    const auto begin = [&](Rank origin) {
        const auto target = int((origin + 1 + random.below(ranks - 1)) % ranks);
        const Action action = actions[random.below(std::size(actions))];
        Operation& operation = operations.emplace_back();
        if (has_pieces(action)) {
            operation.place = {0, random.below(2) == 0 ? 8 : bytes, nullptr};
            operation.element = 8;
            if (action != Action::get) operation.data = {room.data(), operation.place.bytes};
            operation.result = {room.data(), operation.place.bytes};
        }
        scene.start(operation, origin, action, target);
    };
    std::vector<Rank> uninformed{0, 1, 2, 3};
    while (!uninformed.empty()) {
        for (std::size_t i = random.below(6); i > 0; --i) begin(Rank(random.below(ranks)));
        for (std::size_t i = random.below(200); i > 0; --i) scene.job->turn();
        const auto next = random.below(uninformed.size());
        scene.revoke(uninformed[next]);
        uninformed.erase(uninformed.begin() + std::ptrdiff_t(next));
    }
    const auto ended = [&](const rma::Window& window) {
        return window.open == 0 && window.served == 0;
    };
    const bool all_ended = scene.job->run_until(
        [&] { return std::all_of(scene.windows.begin(), scene.windows.end(), ended); });
    INFO(scene.job->report());
    REQUIRE(all_ended);
    for (const Operation& operation : operations) REQUIRE(operation.complete());
    Operation late;
    scene.start(late, 1, Action::lock_shared, 1);
    REQUIRE(late.complete());
    REQUIRE(late.status().error == Error::revoked);
    // The ranks still access each other.
    for (int rank = 0; rank < ranks; ++rank)
        (*scene.job)[rank].windows().remove(scene.windows[std::size_t(rank)]);
    scene.make(ranks, together);
    std::array<Operation, 40> puts;
    for (Operation& put : puts) {
        put.place = {0, bytes, nullptr};
        put.data = {room.data(), bytes};
        scene.start(put, 0, Action::put, 1);
    }
    REQUIRE(scene.job->run_until([&] { return scene.windows[0].open == 0; }));
    for (const Operation& put : puts) REQUIRE(put.status().error == Error::none);
    REQUIRE(scene.job->log() == std::vector<std::string>{});
}

TEST_CASE("A rank that has ended a revoked window refuses what others ask", "[windows]") {
    std::vector<std::byte> room(bytes);
    std::array<Operation, 6> asked;
    static constexpr Action actions[] = {Action::put,   Action::get,  Action::get_accumulate,
                                         Action::flush, Action::post, Action::lock_exclusive};
    Scene scene(2);
    scene.revoke(1);
    (*scene.job)[1].windows().remove(scene.windows[1]);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        if (has_pieces(actions[i])) {
            asked[i].place = {0, 24, nullptr};
            asked[i].element = 8;
            if (actions[i] != Action::get) asked[i].data = {room.data(), 24};
            asked[i].result = {room.data(), 24};
        }
        scene.start(asked[i], 0, actions[i], 1);
    }
    REQUIRE(scene.job->run_until([&] { return scene.windows[0].open == 0; }));
    for (std::size_t i = 0; i < asked.size(); ++i)
        REQUIRE(asked[i].status().error == (is_answered(actions[i]) ? Error::revoked : Error::none));
    REQUIRE(scene.job->log().empty());
}

TEST_CASE("Only the last signal that a sleeping rank misses wakes it", "[windows]") {
    using Kind = rma::Signals::Kind;
    alignas(64) std::array<std::byte, 256> room{};
    REQUIRE(rma::Signals::bytes(3) <= room.size());
    auto& signals = *::new (room.data()) rma::Signals(3);
    CHECK_FALSE(signals.raise(Kind::post, 0));  // it is awake
    CHECK(signals.raised(Kind::post, 0) == 1);
    signals.sleep_for(Kind::post, 2);
    CHECK_FALSE(signals.raise(Kind::complete, 1));  // of another kind
    CHECK_FALSE(signals.raise(Kind::post, 1));
    CHECK(signals.raise(Kind::post, 2));
    CHECK_FALSE(signals.raise(Kind::post, 1));  // no call per signal that is not awaited
    for (std::size_t place = 0; place < 3; ++place)
        CHECK(signals.raised(Kind::post, place) == (place == 1 ? 2 : 1));
    CHECK(signals.raised(Kind::complete, 1) == 1);
    CHECK(signals.raised(Kind::complete, 0) == 0);
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

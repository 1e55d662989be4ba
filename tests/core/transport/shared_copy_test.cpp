// SPDX-License-Identifier: BSD-3-Clause
// Copies that two ranks make together. Both ranks are this process, in two threads.
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "core/transport/shm/interface.h"
#include "core/transport/shm/shared_copy.h"
#include "recorder.h"

namespace torusmp::transport::shm {
namespace {

using testing::pattern;

// No process has this number.
constexpr pid_t nobody = 0x7fffffff;

std::uint64_t address(const std::vector<std::byte>& memory) {
    return std::uint64_t(reinterpret_cast<std::uintptr_t>(memory.data()));
}

struct Pair {
    explicit Pair(std::size_t bytes, unsigned seed = 1)
        : from(pattern(bytes, seed)), to(bytes, std::byte{0}) {}
    Move move(bool inward) const { return {address(from), address(to), from.size(), inward}; }

    std::vector<std::byte> from, to;
};

bool kernel_copies() {
    Pair pair(8);
    const Bytes whole(pair.to);
    return copy_from(getpid(), address(pair.from), {&whole, 1}) == Transfer::done;
}

TEST_CASE("a shared copy moves every byte, whether or not the other rank helps", "[shm][copy]") {
    const bool plain = GENERATE(false, true);
    if (!plain && !kernel_copies()) return;
    CopyPlan plan{};
    // If all memory is of a heap that lies at the same place in both ranks, no process is asked.
    const Bytes all{reinterpret_cast<std::byte*>(std::uintptr_t{64}), SIZE_MAX / 2};
    const BothMemories memories =
        plain ? BothMemories{nobody, all, all, 64} : BothMemories{getpid()};
    SharedCopy copy(plan, memories);
    std::atomic<bool> stop{false};
    std::thread helper;
    const bool helped = GENERATE(false, true);
    if (helped)
        helper = std::thread([&] {
            while (!stop) help(plan, memories);
        });
    std::mt19937 random(31);
    int pending = 0;
    for (int i = 0; i < 300; ++i) {
        const std::size_t bytes = 1 + random() % (i % 10 == 0 ? 3 << 20 : 300 << 10);
        Pair pair(bytes, unsigned(i));
        Transfer transfer = copy.run(pair.move(i % 2 == 0), 7, [] {});
        if (transfer == Transfer::pending) {
            ++pending;
            std::optional<SharedCopy::Result> ended;
            while (!(ended = copy.poll())) std::this_thread::yield();
            if (ended->cookie == 7 && ended->ok) transfer = Transfer::done;
        }
        if (transfer != Transfer::done || pair.to != pair.from) {
            CAPTURE(i, bytes, plain, helped, pending);
            FAIL_CHECK("the copy is not complete");
            break;
        }
    }
    CHECK((helped || pending == 0));
    stop = true;
    if (helped) helper.join();
}

TEST_CASE("a copy is pending while the other rank has a piece", "[shm][copy]") {
    if (!kernel_copies()) return;
    CopyPlan plan{};
    SharedCopy copy(plan, {getpid()});
    Pair pair(600 << 10);
    // The other rank takes the first piece, and then stands still.
    CHECK(copy.run(pair.move(true), 9, [&] { --plan.left; }) == Transfer::pending);
    CHECK(copy.busy());
    CHECK_FALSE(copy.poll());
    const std::size_t piece = plan.piece;
    CHECK(std::equal(pair.to.begin() + std::ptrdiff_t(piece), pair.to.end(),
                     pair.from.begin() + std::ptrdiff_t(piece)));
    std::copy_n(pair.from.begin(), piece, pair.to.begin());
    ++plan.ended;
    const auto ended = copy.poll();
    REQUIRE(ended);
    CHECK(ended->cookie == 9);
    CHECK(ended->ok);
    CHECK(pair.to == pair.from);
    CHECK_FALSE(copy.busy());
    CHECK(copy.run(Pair(100).move(false), 1, [] {}) == Transfer::done);
}

TEST_CASE("if the kernel refuses the other rank's piece, its starter copies all", "[shm][copy]") {
    if (!kernel_copies()) return;
    CopyPlan plan{};
    SharedCopy copy(plan, {getpid()});
    for (const bool inward : {false, true}) {
        Pair pair(1 << 20);
        CHECK(copy.run(pair.move(inward), 1, [&] { help(plan, {nobody}); }) == Transfer::done);
        CHECK(pair.to == pair.from);
    }
}

TEST_CASE("a copy with a process that has ended is refused", "[shm][copy]") {
    CopyPlan plan{};
    SharedCopy copy(plan, {nobody});
    Pair pair(1 << 20);
    CHECK(copy.run(pair.move(true), 1, [] {}) == Transfer::refused);
    CHECK_FALSE(copy.busy());
}

struct Linked {
    explicit Linked(CopyMode b_mode) : a({port()}, {}), b({port()}, {.copy = b_mode}) {
        to_b = &a.connect(b.address(), {});
        to_a = &b.connect(a.address(), {});
    }
    static PortOptions port() {
        PortOptions options{0, 1, {}, 4096};
        options.credits[0] = 4;
        return options;
    }
    ShmInterface a, b;
    Channel *to_b = nullptr, *to_a = nullptr;
};

TEST_CASE("a rank that polls helps with what its peer copies", "[shm][copy]") {
    if (!kernel_copies()) return;
    Linked linked(CopyMode::one_copy);
    Pair pair(8 << 20);
    const RemoteMemory remote = linked.a.register_memory(pair.from, linked.to_b);
    testing::Recorder at_a, at_b;
    std::atomic<bool> stop{false};
    std::thread helper([&] {
        while (!stop) linked.a.poll(at_a);
    });
    for (int i = 0; i < 20; ++i) {
        std::fill(pair.to.begin(), pair.to.end(), std::byte{0});
        const Transfer transfer = testing::read(*linked.to_a, remote, 0, pair.to, 5);
        CHECK(transfer != Transfer::refused);
        while (transfer == Transfer::pending && at_b.transfers.empty()) linked.b.poll(at_b);
        at_b.transfers.clear();
        CHECK(pair.to == pair.from);
    }
    stop = true;
    helper.join();
}

TEST_CASE("a rank helps to copy between heaps, and nothing outside of them is touched",
          "[shm][copy]") {
    Linked linked(CopyMode::packets);
    constexpr std::size_t bytes = 3 << 20;
    auto* const ours = static_cast<std::byte*>(linked.a.allocate(bytes, 64));
    auto* const theirs = static_cast<std::byte*>(linked.b.allocate(bytes, 64));
    const auto from = pattern(bytes, 4);
    std::copy(from.begin(), from.end(), ours);
    const RemoteMemory remote = linked.a.register_memory({ours, bytes}, linked.to_b);
    testing::Recorder at_a, at_b;
    std::atomic<bool> stop{false};
    std::thread helper([&] {
        while (!stop) linked.a.poll(at_a);
    });
    for (int i = 0; i < 20; ++i) {
        std::fill(theirs, theirs + bytes, std::byte{0});
        constexpr std::size_t margin = 100;
        const Bytes inner{theirs + margin, bytes - 2 * margin};
        const Transfer transfer = linked.to_a->read(remote, margin, {&inner, 1}, 5);
        CHECK(transfer != Transfer::refused);
        while (transfer == Transfer::pending && at_b.transfers.empty()) linked.b.poll(at_b);
        at_b.transfers.clear();
        CHECK(std::equal(inner.begin(), inner.end(), from.begin() + margin));
        CHECK(theirs[margin - 1] == std::byte{0});
        CHECK(theirs[bytes - margin] == std::byte{0});
    }
    stop = true;
    helper.join();
    linked.a.free(ours);
    linked.b.free(theirs);
}

TEST_CASE("a receiver's choice for one message does not bind the senders of later ones",
          "[shm][copy]") {
    if (!kernel_copies()) return;
    Linked linked(CopyMode::one_copy);
    std::vector<std::byte> ours(1 << 20), theirs(1 << 20);
    // The rates of packets are not known yet, so a chooses packets, to learn them.
    CHECK_FALSE(linked.to_b->can_read(linked.b.register_memory(theirs, linked.to_a)));
    CHECK(linked.to_a->can_write(linked.a.register_memory(ours, linked.to_b)));
}

}  // namespace
}  // namespace torusmp::transport::shm

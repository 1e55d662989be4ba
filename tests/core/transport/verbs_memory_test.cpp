// SPDX-License-Identifier: BSD-3-Clause
// Memory under verbs: its registration and deregistration, and copies if registration is refused.
// Runs if RDMA devices exist (verbs_pair.h), as root; tests of the limit of locked memory without
// CAP_IPC_LOCK.
#include <sys/mman.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>

#include "config/memory_lock.h"
#include "verbs_cable.h"

using namespace torusmp::transport;
using namespace torusmp::transport::testing;
using verbs::VerbsInterface;

namespace verbs_memory_test {
namespace {

std::byte* map_at(void* where, std::size_t bytes) {
    void* const memory =
        mmap(where, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | (where != nullptr ? MAP_FIXED : 0), -1, 0);
    REQUIRE(memory != MAP_FAILED);
    return static_cast<std::byte*>(memory);
}

// A limit of locked memory while it lives. For processes without CAP_IPC_LOCK, which would lift it;
// verbs does not serve one that gives it up on the way, so tests with it are run by themselves:
// setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock verbs_test "[memlock]".
class LittleMemory {
  public:
    explicit LittleMemory(rlim_t bytes) {
        getrlimit(RLIMIT_MEMLOCK, &before_);
        const rlimit little{bytes, before_.rlim_max};
        REQUIRE(setrlimit(RLIMIT_MEMLOCK, &little) == 0);
        REQUIRE(torusmp::config::memory_lock_limit() == bytes);
    }
    ~LittleMemory() { setrlimit(RLIMIT_MEMLOCK, &before_); }

  private:
    rlimit before_{};
};

}  // namespace

TEST_CASE("memory is registered once, and again when the program gets its address back",
          "[verbs]") {
    Cable cable;
    constexpr std::size_t bytes = 1u << 20;
    std::byte* memory = map_at(nullptr, bytes);
    const auto first = pattern(bytes, 1);
    REQUIRE(cable.write({memory, bytes}, first));
    const auto made = cable.b.registrations().made;
    CHECK(made >= 1);
    REQUIRE(cable.write({memory, bytes}, pattern(bytes, 2)));
    CHECK(cable.b.registrations().made == made);
    CHECK(cable.b.registrations().found >= 1);

    SECTION("by munmap") {
        munmap(memory, bytes);
        map_at(memory, bytes);
    }
    SECTION("by a mapping in its place") {
        munmap(memory, bytes / 2);
        map_at(memory, bytes / 2);
    }
    SECTION("by madvise") {
        REQUIRE(madvise(memory, bytes, MADV_DONTNEED) == 0);
    }
    const auto third = pattern(bytes, 3);
    REQUIRE(cable.write({memory, bytes}, third));
    CHECK(std::memcmp(memory, third.data(), bytes) == 0);
    CHECK(cable.b.registrations().unmapped >= 1);
    CHECK(cable.b.registrations().made > made);
    munmap(memory, bytes);
}

TEST_CASE("memory that free returns to the system is deregistered", "[verbs]") {
    Cable cable;
    constexpr std::size_t bytes = 4u << 20;
    // The same size again and again is allocated at the same address.
    for (std::uint64_t round = 0; round < 4; ++round) {
        auto* const memory = static_cast<std::byte*>(std::malloc(bytes));
        const auto data = pattern(bytes, round);
        REQUIRE(cable.write({memory, bytes}, data));
        REQUIRE(std::memcmp(memory, data.data(), bytes) == 0);
        std::free(memory);
    }
    CHECK(cable.b.registrations().made >= 1);
}

TEST_CASE("registered memory is kept up to the limit, and the oldest is released first",
          "[verbs]") {
    constexpr std::size_t piece = 256u << 10;
    Cable cable(4 * piece);
    std::byte* const memory = map_at(nullptr, 16 * piece);
    const auto data = pattern(piece, 1);
    for (std::size_t i = 0; i < 8; ++i) {
        // Gaps between them, so that each is one of its own.
        REQUIRE(cable.write({memory + 2 * i * piece, piece}, data));
        REQUIRE(cable.b.registrations().bytes <= 4 * piece);
    }
    CHECK(cable.b.registrations().evicted == 4);
    const auto made = cable.b.registrations().made;
    REQUIRE(cable.write({memory + 14 * piece, piece}, data));
    CHECK(cable.b.registrations().made == made);
    REQUIRE(cable.write({memory, piece}, data));
    CHECK(cable.b.registrations().made == made + 1);
    munmap(memory, 16 * piece);
}

TEST_CASE("without a cache memory is registered for each message", "[verbs]") {
    Cable cable(0);
    std::vector<std::byte> memory(100'000);
    for (std::uint64_t round = 0; round < 3; ++round) {
        const auto data = pattern(memory.size(), round);
        REQUIRE(cable.write(memory, data));
        REQUIRE(memory == data);
    }
    CHECK(cable.b.registrations().made == 3);
    CHECK(cable.b.registrations().bytes == 0);
}

TEST_CASE("memory made by the transport stays registered", "[verbs]") {
    Cable cable;
    constexpr std::size_t bytes = 300'000;
    auto* const memory = static_cast<std::byte*>(cable.b.allocate(bytes, 4096));
    REQUIRE(memory != nullptr);
    const auto made = cable.b.registrations().made;
    for (std::uint64_t round = 0; round < 3; ++round) {
        const auto data = pattern(bytes, round);
        REQUIRE(cable.write({memory, bytes}, data));
        REQUIRE(std::memcmp(memory, data.data(), bytes) == 0);
    }
    CHECK(cable.b.registrations().made == made);
    cable.b.free(memory);
}

TEST_CASE("memory that the program may only read can be sent", "[verbs]") {
    Cable cable;
    constexpr std::size_t bytes = 200'000;
    std::byte* const source = map_at(nullptr, bytes);
    const auto data = pattern(bytes, 9);
    std::memcpy(source, data.data(), bytes);
    REQUIRE(mprotect(source, bytes, PROT_READ) == 0);
    std::vector<std::byte> memory(bytes);
    const RemoteMemory remote = cable.b.register_memory(memory, &cable.to_a);
    REQUIRE(testing::write(cable.to_b, remote, 0, {source, bytes}, 1, 2) == Transfer::pending);
    REQUIRE(cable.turn_until([&] { return !cable.at_b.notices.empty(); }));
    CHECK(memory == data);
    cable.b.deregister_memory(remote);
    munmap(source, bytes);
}

TEST_CASE(
    "if no more memory may be locked, the limit and the remedy are reported and large messages are "
    "copied",
    "[.memlock]") {
    std::string logged;
    Cable cable(1u << 30, [&](std::string_view text) { logged += text; });
    std::vector<std::byte> memory(1'000'000);
    const auto data = pattern(memory.size(), 4);
    const RemoteMemory remote = cable.b.register_memory(memory, &cable.to_a);
    REQUIRE(remote.length == memory.size());
    {
        const LittleMemory little(64u << 10);
        REQUIRE(testing::write(cable.to_b, remote, 0, data, 1, 2) == Transfer::pending);
        REQUIRE(cable.turn_until(
            [&] { return !cable.at_b.notices.empty() && !cable.at_a.transfers.empty(); }));
        // The receiver's own memory: its name is given to no peer, so packets carry the message.
        std::vector<std::byte> other(1'000'000);
        CHECK(cable.b.register_memory(other, &cable.to_a).length == 0);
    }
    CHECK(memory == data);
    CHECK(cable.a.traffic().bounced == data.size());
    CHECK(cable.a.registrations().refused == 1);
    CHECK_THAT(logged, Catch::Contains("64 KiB in all (`ulimit -l`)"));
    CHECK_THAT(logged, Catch::Contains("limits.conf"));
    cable.b.deregister_memory(remote);
}

TEST_CASE("a channel without memory for its slots reports the limit of locked memory",
          "[.memlock]") {
    VerbsInterface a(std::vector{port(0)}, verbs_options("a", verbs_devices().first, {port(0)}));
    VerbsInterface b(std::vector{port(1)}, verbs_options("b", verbs_devices().second, {port(1)}));
    const LittleMemory little(64u << 10);
    CHECK_THROWS_WITH(a.connect(b.address(), {0, 1, true}),
                      Catch::Contains("ulimit -l") && Catch::Contains("transport.tokens"));
}

}  // namespace verbs_memory_test

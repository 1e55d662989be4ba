// SPDX-License-Identifier: BSD-3-Clause
// The effects of shared memory on the rest of the process: core dumps, limits.
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>
#include <string>

#include "core/transport/shm/interface.h"

namespace torusmp::transport::shm {
namespace {

constexpr std::size_t block = std::size_t{4} << 20;

ShmInterface make() {
    PortOptions port{0, 1, {}, 4096};
    port.credits[0] = 4;
    return ShmInterface({port}, {});
}

// The flags of the kernel for the mapping that contains an address.
std::string flags_of(const void* memory) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(memory);
    std::ifstream maps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0, end = 0;
        char dash = 0;
        std::istringstream range(line);
        if (range >> std::hex >> begin >> dash >> end && dash == '-')
            inside = begin <= wanted && wanted < end;
        else if (inside && line.rfind("VmFlags:", 0) == 0)
            return line + " ";
    }
    FAIL("no mapping holds the address");
    return {};
}

bool is_dumped(const void* memory) {
    return flags_of(memory).find(" dd ") == std::string::npos;
}

// The bytes of the segments' mappings that a core dump would contain.
std::size_t dumped_bytes() {
    std::ifstream maps("/proc/self/smaps");
    std::size_t bytes = 0, dumped = 0;
    bool segment = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0, end = 0;
        char dash = 0;
        std::istringstream range(line);
        if (range >> std::hex >> begin >> dash >> end && dash == '-') {
            segment = line.find("/memfd:torusmp") != std::string::npos;
            bytes = end - begin;
        } else if (segment && line.rfind("VmFlags:", 0) == 0) {
            if ((line + " ").find(" dd ") == std::string::npos) dumped += bytes;
        }
    }
    return dumped;
}

TEST_CASE("core dumps omit segments except for the memory allocated by the program",
          "[shm][dumps]") {
    constexpr std::size_t block = 2 * Heap::most_kept;  // freed memory is returned at once
    ShmInterface a = make();
    ShmInterface b = make();
    ChannelOptions ports;
    Channel& to_b = a.connect(b.address(), ports);
    b.connect(a.address(), ports);
    CHECK(dumped_bytes() == 0);

    auto* first = static_cast<std::byte*>(b.allocate(block, 64));
    auto* second = static_cast<std::byte*>(b.allocate(block, 64));
    const RemoteMemory remote = b.register_memory({first, block}, nullptr);
    const std::byte* seen_by_a = to_b.map(remote, 0, block);
    REQUIRE(seen_by_a != nullptr);
    REQUIRE(seen_by_a != first);
    CHECK(is_dumped(first));
    CHECK(is_dumped(first + block - 1));
    CHECK(is_dumped(second + block - 1));
    CHECK(!is_dumped(seen_by_a));
    CHECK(dumped_bytes() < 3 * block);

    b.free(second);
    CHECK(is_dumped(first + block - 1));
    CHECK(dumped_bytes() < 2 * block);
    b.free(first);
    CHECK(dumped_bytes() == 0);
}

TEST_CASE("if limits leave a small heap, the program gets private memory besides", "[shm]") {
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    rlimit limited = before;
    limited.rlim_cur = 4 * block;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limited) == 0);
    ShmInterface a = make();
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);

    std::array<std::byte*, 8> blocks{};
    std::size_t shared = 0;
    for (std::byte*& each : blocks) {
        each = static_cast<std::byte*>(a.allocate(block, 4096));
        REQUIRE(each != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(each) % 4096 == 0);
        std::memset(each, 1, block);
        if (a.is_mapped(a.register_memory({each, block}, nullptr))) ++shared;
    }
    CHECK(shared > 0);
    CHECK(shared < 4);
    for (std::byte* each : blocks) a.free(each);
}

TEST_CASE("the kernel copies a message if packets are slower", "[shm]") {
    std::uint64_t from = 1, to = 0;
    const Bytes whole = std::as_writable_bytes(std::span(&to, 1));
    const bool permitted =
        copy_from(getpid(), reinterpret_cast<std::uintptr_t>(&from), {&whole, 1}) == Transfer::done;
    constexpr std::uint32_t slow = 100, fast = 1'000'000'000;  // MB/s
    constexpr int many = 1000;
    constexpr std::size_t payload = 16384, bytes = 1 << 20;
    CAPTURE(permitted);
    CrossMemory memory(CopyMode::automatic, false);
    CHECK_FALSE(memory.pays(bytes, {payload, fast, fast}));
    int by_kernel = 0;
    for (int i = 0; i < many; ++i) by_kernel += memory.pays(bytes, {payload, slow, slow});
    CHECK(by_kernel <= (permitted ? many - 5 : 0));  // some go the other way to learn its rate
    CHECK(by_kernel >= (permitted ? many / 2 : 0));
    for (int i = 0; i < many; ++i) memory.copied(block, std::chrono::seconds(100));
    CHECK_FALSE(
        (memory.pays(bytes, {payload, slow, slow}) || memory.pays(bytes, {payload, slow, slow})));
    // Each call takes some time before it copies, so short messages are slower.
    CrossMemory of_lengths(CopyMode::automatic, false);
    double before = 0;
    for (std::size_t length = 4096; length <= bytes; length *= 4) {
        const double rate = of_lengths.kernel_rate_of(length);
        CHECK((rate > before || !permitted));
        CHECK(rate <= of_lengths.kernel_rate());
        before = rate;
    }
    // A rank that shares its core may have lost it in a copy, so measured rates do not count.
    CrossMemory crowded(CopyMode::automatic, true);
    const bool pays = crowded.pays(bytes, {payload, 0, 0});
    CHECK((permitted || !pays));
    for (int i = 0; i < many; ++i) crowded.copied(block, std::chrono::seconds(100));
    CHECK(crowded.pays(bytes, {payload, fast, fast}) == pays);
    CHECK(crowded.pays(bytes, {payload, slow, slow}) == pays);
    CHECK(CrossMemory(CopyMode::one_copy, false).pays(bytes, {payload, fast, fast}));
    CHECK_FALSE(CrossMemory(CopyMode::packets, false).pays(bytes, {payload, slow, slow}));
}

TEST_CASE("the rate of payloads is published after some were timed", "[shm]") {
    std::atomic<std::uint32_t> published{0};
    Rate rate(published, 8);
    for (int i = 0; i < 100; ++i) CHECK(rate.due(100) == nullptr);
    int timed = 0;
    for (int i = 0; i < 100; ++i) {
        Rate* const due = rate.due(8192);
        timed += due != nullptr;
        const Rate::Sample sample(due, 8192);
    }
    CHECK(timed >= 10);
    CHECK(published.load() > 0);
}

}  // namespace
}  // namespace torusmp::transport::shm

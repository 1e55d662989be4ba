// SPDX-License-Identifier: BSD-3-Clause
// The heap of a segment as the provider of the program's large blocks.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <vector>

#include "core/transport/shm/heap.h"
#include "core/transport/shm/large_blocks.h"

namespace torusmp::transport::shm {
namespace {

struct Made {
    std::unique_ptr<Segment> segment = Segment::create({});
    Heap heap{*segment, segment->program_part()};
};

struct Block {
    std::byte* memory;
    std::size_t bytes;
    std::byte value;

    bool intact() const {
        return std::all_of(memory, memory + bytes, [&](std::byte b) { return b == value; });
    }
};

TEST_CASE("blocks of a heap keep their contents, whatever happens to others", "[shm][heap]") {
    const unsigned seed = GENERATE(range(1u, 9u));
    CAPTURE(seed);
    std::mt19937 random(seed);
    Made made;
    std::vector<Block> blocks;
    const auto length = [&] {
        return std::size_t(1) + random() % (std::size_t{1} << (6 + random() % 16));
    };
    bool right = true;
    for (int step = 0; step < 2000; ++step) {
        const std::size_t which = blocks.empty() ? 0 : random() % blocks.size();
        const auto kind = blocks.size() < 3 ? 0 : random() % 5;
        if (kind < 2 && blocks.size() < 60) {
            const std::size_t alignment = std::size_t{16} << random() % 10;
            const std::size_t bytes = length();
            const bool cleared = random() % 3 == 0;
            auto* const memory = static_cast<std::byte*>(
                cleared ? made.heap.allocate_cleared(bytes) : made.heap.allocate(bytes, alignment));
            REQUIRE(memory != nullptr);
            right &= made.heap.contains(memory, bytes) && made.heap.size(memory) >= bytes;
            if (cleared)
                right &= Block{memory, bytes, std::byte{0}}.intact();
            else
                right &= reinterpret_cast<std::uintptr_t>(memory) % alignment == 0;
            blocks.push_back({memory, bytes, std::byte(random())});
            std::memset(memory, int(blocks.back().value), bytes);
        } else if (kind == 2) {
            Block& block = blocks[which];
            const std::size_t bytes = length();
            if (made.heap.resize(block.memory, bytes)) {
                right &= Block{block.memory, std::min(bytes, block.bytes), block.value}.intact();
                right &= made.heap.size(block.memory) >= bytes;
                std::memset(block.memory, int(block.value), bytes);
                block.bytes = bytes;
            } else {
                right &= bytes > block.bytes;
            }
        } else {
            right &= blocks[which].intact();
            made.heap.free(blocks[which].memory);
            blocks.erase(blocks.begin() + std::ptrdiff_t(which));
        }
    }
    for (const Block& block : blocks) {
        right &= block.intact();
        made.heap.free(block.memory);
    }
    CHECK(right);
    // Everything has come back, in one piece.
    void* const all = made.heap.allocate(made.heap.memory().size(), 64);
    CHECK(all == made.heap.memory().data());
}

TEST_CASE("a heap returns most of what is freed to the system", "[shm][heap]") {
    Made made;
    const std::size_t bytes = 3 * Heap::most_kept;
    void* const block = made.heap.allocate(bytes, 64);
    std::memset(block, 1, bytes);
    made.heap.free(block);
    auto* const again = static_cast<unsigned char*>(made.heap.allocate(bytes, 64));
    REQUIRE(again == block);
    CHECK(std::all_of(again, again + bytes, [](unsigned char b) { return b == 0; }));
}

TEST_CASE("what a child of a fork does to its blocks is not seen by its parent", "[shm][heap]") {
    Made made;
    constexpr std::size_t bytes = std::size_t{1} << 20;
    auto* const block = static_cast<char*>(made.heap.allocate(bytes, 64));
    auto* const freed = static_cast<char*>(made.heap.allocate(bytes, 64));
    std::memset(block, 'p', bytes);
    std::memset(freed, 'f', bytes);
    made.heap.before_fork();
    const pid_t child = fork();
    made.heap.after_fork(child == 0);
    if (child == 0) {
        bool right = block[0] == 'p' && block[bytes - 1] == 'p';
        std::memset(block, 'c', bytes);
        made.heap.free(freed);
        auto* const cleared = static_cast<char*>(made.heap.allocate_cleared(bytes));
        right = right && std::all_of(cleared, cleared + bytes, [](char c) { return c == 0; });
        _exit(right ? 0 : 1);
    }
    REQUIRE(child > 0);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(std::all_of(block, block + bytes, [](char c) { return c == 'p'; }));
    CHECK(std::all_of(freed, freed + bytes, [](char c) { return c == 'f'; }));
}

// How many pages of that memory are in memory.
std::size_t resident(const Bytes& memory) {
    std::vector<unsigned char> pages(memory.size() / page);
    REQUIRE(mincore(memory.data(), memory.size(), pages.data()) == 0);
    return std::size_t(std::count_if(pages.begin(), pages.end(), [](auto p) { return p & 1; }));
}

TEST_CASE("large blocks of a process that has ended are returned to the system, by a peer",
          "[shm][heap]") {
    constexpr std::size_t bytes = std::size_t{8} << 20;
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        Made made;
        Heap library(*made.segment, made.segment->library_part());
        std::memset(made.heap.allocate(bytes, 64), 1, bytes);
        std::memset(library.allocate(bytes, 64), 2, bytes);
        const Address address = made.segment->address();
        if (write(ends[1], &address, sizeof address) != sizeof address) _exit(1);
        pause();
    }
    REQUIRE(child > 0);
    Address address{};
    REQUIRE(read(ends[0], &address, sizeof address) == sizeof address);
    const auto peer = Segment::open(address);
    const Bytes program = peer->program_part().first(bytes);
    const Bytes library = peer->library_part().first(bytes);
    peer->discard_program_part();  // not yet
    CHECK(resident(program) == bytes / page);
    CHECK(program.front() == std::byte{1});
    CHECK(peer->has_program_part());
    kill(child, SIGKILL);
    REQUIRE(waitpid(child, nullptr, 0) == child);
    peer->discard_program_part();
    CHECK(resident(program) == 0);
    CHECK_FALSE(peer->has_program_part());
    // What ranks share remains.
    CHECK(resident(library) == bytes / page);
    CHECK(
        std::all_of(library.begin(), library.end(), [](std::byte b) { return b == std::byte{2}; }));
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("which blocks are shared follows from what the kernel is told", "[shm][heap]") {
    const auto root =
        std::filesystem::temp_directory_path() / ("large_blocks_test." + std::to_string(getpid()));
    const auto huge = root / "sys/kernel/mm/transparent_hugepage";
    std::filesystem::create_directories(huge);
    std::filesystem::create_directories(root / "proc/sys/vm");
    const auto write = [](const std::filesystem::path& file, const char* text) {
        std::ofstream(file) << text << "\n";
    };
    constexpr std::size_t least = least_large_block, mebibyte = std::size_t{1} << 20;
    const auto end = [&](Malloc wish) { return end_of_large_blocks(wish, root); };

    CHECK(end(Malloc::automatic) > 1000 * mebibyte);  // a kernel without huge pages
    write(huge / "enabled", "always [madvise] never");
    write(huge / "shmem_enabled", "always within_size advise [never] deny force");
    write(huge / "hpage_pmd_size", "2097152");
    write(root / "proc/sys/vm/overcommit_memory", "0");
    CHECK(end(Malloc::automatic) > 1000 * mebibyte);
    write(huge / "enabled", "[always] madvise never");
    CHECK(end(Malloc::automatic) == 2 * mebibyte);
    CHECK(end(Malloc::shared) > 1000 * mebibyte);
    write(huge / "shmem_enabled", "always [within_size] advise never deny force");
    CHECK(end(Malloc::automatic) > 1000 * mebibyte);
    write(root / "proc/sys/vm/overcommit_memory", "2");
    CHECK(end(Malloc::automatic) <= least);
    CHECK(end(Malloc::shared) > 1000 * mebibyte);
    CHECK(end(Malloc::separate) <= least);
    std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace torusmp::transport::shm

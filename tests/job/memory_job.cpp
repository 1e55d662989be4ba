// SPDX-License-Identifier: BSD-3-Clause
// Memory that peers reach, between processes: each rank allocates a block, fills it, and sends from
// it to every other rank.
//
//   torus-run -np 8 memory_job MIB [--abort]
//
// --abort: when all blocks have arrived, rank 0 ends in abort(), inside fails_here(). Exit code 1:
// a message was wrong.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "core/api.h"
#include "job/process.h"

using namespace torusmp;

namespace {

constexpr std::size_t sent = 100'000;

std::byte content(int rank, std::size_t position) {
    return std::byte((std::size_t(rank) * 31 + position * 7) & 0xff);
}

// A pair of messages with every other rank.
bool exchange(core::Runtime& runtime, std::byte* block) {
    const int size = runtime.size();
    std::deque<core::SendRequest> sends(static_cast<std::size_t>(size));
    std::deque<core::ReceiveRequest> receives(sends.size());
    std::vector<std::vector<std::byte>> rooms(sends.size(), std::vector<std::byte>(sent));
    for (int peer = 0; peer < size; ++peer) {
        runtime.receive(receives[peer], core::Buffer(rooms[peer].data(), sent), peer, 0, 0);
        runtime.send(sends[peer], core::Buffer(block, sent), peer, 0, 0);
    }
    bool right = true;
    for (int peer = 0; peer < size; ++peer) {
        runtime.wait(sends[peer]);
        runtime.wait(receives[peer]);
        for (std::size_t i = 0; i < sent; ++i) right &= rooms[peer][i] == content(peer, i);
    }
    return right;
}

[[gnu::noinline]] void fails_here(core::Runtime& runtime) {
    if (runtime.rank() == 0) std::abort();
    // The others are ended by the launcher.
    runtime.wait_until([] { return false; }, "the end");
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 2) return 2;
    const std::size_t bytes = std::size_t(std::atoi(argv[1])) << 20;
    const auto process = job::Process::acquire(false);
    core::Runtime& runtime = process->runtime();
    auto* block = static_cast<std::byte*>(runtime.allocate(bytes, 64));
    if (block == nullptr) {
        fmt::print(stderr, "rank {}: found no memory for {} B\n", runtime.rank(), bytes);
        return 1;
    }
    for (std::size_t i = 0; i < bytes; ++i) block[i] = content(runtime.rank(), i);
    // In halves, so that the text is whole in the block alone.
    const std::string text =
        fmt::format("{}{}", "the memory of ", fmt::format("rank {}", runtime.rank()));
    std::memcpy(block + bytes - text.size(), text.data(), text.size());
    if (!exchange(runtime, block)) {
        fmt::print(stderr, "rank {}: a message was wrong\n", runtime.rank());
        return 1;
    }
    if (argc > 2) fails_here(runtime);
    runtime.free(block);
    process->leave();
    return 0;
} catch (const std::exception& error) {
    job::end_process(1, error.what());
}

// SPDX-License-Identifier: BSD-3-Clause
// The job for the tests of the protocol, and the memory of a message.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "job.h"

namespace torusmp::core::testing::protocol {

inline constexpr std::size_t limit = 1024;

inline JobOptions line(std::uint64_t seed, sim::Remote write, sim::Remote read) {
    JobOptions options;
    options.dims = {5};
    options.seed = seed;
    options.eager_limit = limit;
    options.credits = 3;
    options.relay_credits = 2;
    options.world.write = write;
    options.world.read = read;
    return options;
}

// Memory of one message between guards, contiguous or in strided blocks.
class Memory {
  public:
    Memory(std::size_t bytes, bool strided) : bytes_(bytes) {
        if (strided && bytes > 0) {
            // Blocks of long messages are large enough to be gathered one by one.
            const std::size_t longest = bytes > 4000 ? 1500 : 96;
            const std::size_t block =
                std::max<std::size_t>(1, std::min<std::size_t>(bytes / 3, longest));
            const std::size_t blocks = bytes / block;
            std::vector<Layout::Run> runs{{guard, block, blocks, std::ptrdiff_t(block + 13)}};
            const std::size_t rest = bytes - blocks * block;
            const auto end = guard + std::ptrdiff_t(blocks * (block + 13));
            if (rest > 0) runs.push_back({end, rest, 1, 0});
            layout_ = std::make_unique<Layout>(runs);
            REQUIRE(layout_->size() == bytes);
            data_.assign(std::size_t(end) + rest + guard, std::byte{0xd5});
        } else {
            data_.assign(bytes + 2 * guard, std::byte{0xd5});
        }
    }
    Buffer buffer() {
        return layout_ ? Buffer(data_.data(), *layout_) : Buffer(data_.data() + guard, bytes_);
    }
    void write(std::uint64_t seed) {
        std::vector<std::byte> flat(bytes_);
        fill(flat.data(), bytes_, seed);
        if (bytes_ > 0) buffer().unpack(0, flat.data(), bytes_);
    }
    // The first `bytes` of the message are those of the seed.
    bool holds(std::size_t bytes, std::uint64_t seed) {
        std::vector<std::byte> flat(bytes);
        if (bytes > 0) buffer().pack(0, flat.data(), bytes);
        return filled(flat.data(), bytes, seed);
    }
    // Nothing was written between and around the blocks.
    bool guards_stand() {
        std::vector<std::byte> copy = data_;
        data_.assign(data_.size(), std::byte{0xd5});
        std::vector<std::byte> flat(bytes_);
        if (layout_)
            layout_->pack(copy.data(), 0, flat.data(), bytes_);
        else
            flat.assign(copy.begin() + guard, copy.end() - guard);
        if (bytes_ > 0) buffer().unpack(0, flat.data(), bytes_);
        data_.swap(copy);
        return data_ == copy;
    }

  private:
    static constexpr std::ptrdiff_t guard = 32;
    std::size_t bytes_;
    std::unique_ptr<Layout> layout_;
    std::vector<std::byte> data_;
};

inline constexpr sim::Remote ways[] = {sim::Remote::refused, sim::Remote::immediate,
                                       sim::Remote::pending, sim::Remote::mixed};

inline std::uint64_t total(Runtime& runtime, std::uint64_t Statistics::*field) {
    std::uint64_t sum = 0;
    for (const auto& connection : runtime.state().connections())
        sum += connection.statistics.*field;
    return sum;
}

}  // namespace torusmp::core::testing::protocol

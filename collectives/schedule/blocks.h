// SPDX-License-Identifier: BSD-3-Clause
// The layout of the blocks of a group's members in one buffer, in bytes, by member number.
//
// A view: arrays passed to each() belong to the caller, who keeps them until the collective is
// complete.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

namespace torusmp::collectives {

class Blocks {
  public:
    Blocks() = default;
    // Member i's block is `bytes` long and begins at i * bytes.
    static Blocks even(std::size_t bytes) {
        Blocks blocks;
        blocks.bytes_ = bytes;
        return blocks;
    }
    // A size and an offset for each member.
    static Blocks each(std::span<const std::size_t> sizes, std::span<const std::size_t> offsets) {
        Blocks blocks;
        blocks.sizes_ = sizes.data();
        blocks.offsets_ = offsets.data();
        return blocks;
    }

    std::size_t size(int member) const {
        return sizes_ == nullptr ? bytes_ : sizes_[std::size_t(member)];
    }
    std::size_t offset(int member) const {
        return sizes_ == nullptr ? bytes_ * std::size_t(member) : offsets_[std::size_t(member)];
    }
    std::size_t total(int members) const {
        if (sizes_ == nullptr) return bytes_ * std::size_t(members);
        return std::accumulate(sizes_, sizes_ + members, std::size_t(0));
    }
    std::size_t longest(int members) const {
        return sizes_ == nullptr ? bytes_ : *std::max_element(sizes_, sizes_ + members);
    }
    // All blocks have one size and are contiguous.
    bool is_even() const { return sizes_ == nullptr; }

  private:
    // A copy of even() loads these members in the same pieces in which they were stored (see
    // Schedule::keep()).
    const std::size_t* sizes_ = nullptr;  // null if even
    const std::size_t* offsets_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace torusmp::collectives

// SPDX-License-Identifier: BSD-3-Clause
// Memory of a schedule that only grows, aligned for every type.
#pragma once

#include <cstddef>
#include <memory>

namespace torusmp::collectives {

class Scratch {
  public:
    // Bytes rounded up so that any type may follow.
    static constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }
    std::byte* reserve(std::size_t bytes) {
        if (bytes > size_) {
            memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
            size_ = bytes;
        }
        return memory_.get();
    }

  private:
    std::unique_ptr<std::byte[]> memory_;
    std::size_t size_ = 0;
};

}  // namespace torusmp::collectives

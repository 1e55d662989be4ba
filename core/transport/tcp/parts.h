// SPDX-License-Identifier: BSD-3-Clause
// The stretches of memory that one system call sends.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <span>

#include "base/assert.h"

namespace torusmp::transport::tcp {

// The most stretches of memory of one remote write.
inline constexpr std::size_t most_gathered = 64;

class Parts {
  public:
    void add(const void* from, std::size_t bytes) {
        if (bytes == 0) return;
        TORUSMP_ASSERT(room() != 0, count_, bytes_, bytes);
        list_[count_++] = {const_cast<void*>(from), bytes};
        bytes_ += bytes;
    }
    bool empty() const { return count_ == 0; }
    std::size_t room() const { return list_.size() - count_; }
    std::size_t bytes() const { return bytes_; }  // in all
    std::span<iovec> list() { return {list_.data(), count_}; }

  private:
    std::array<iovec, 3 + 2 * most_gathered> list_;  // not cleared, since only the first are used
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace torusmp::transport::tcp

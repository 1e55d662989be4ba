// SPDX-License-Identifier: BSD-3-Clause
// A queue of bytes that wait to be sent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/transport/api/memory.h"

namespace torusmp::transport {

class ByteQueue {
  public:
    bool empty() const { return head_ == bytes_.size(); }
    std::size_t size() const { return bytes_.size() - head_; }
    std::byte* front() { return bytes_.data() + head_; }
    // Room at the end, for the caller to fill.
    std::byte* extend(std::size_t bytes) {
        if (head_ > bytes_.size() / 2) {
            bytes_.erase(bytes_.begin(), bytes_.begin() + std::ptrdiff_t(head_));
            head_ = 0;
        }
        bytes_.resize(bytes_.size() + bytes);
        return bytes_.data() + bytes_.size() - bytes;
    }
    void push(ConstBytes bytes) {
        if (!bytes.empty()) std::copy(bytes.begin(), bytes.end(), extend(bytes.size()));
    }
    void pop(std::size_t bytes) {
        head_ += bytes;
        if (head_ == bytes_.size()) clear();
    }
    void clear() {
        bytes_.clear();
        head_ = 0;
    }

  private:
    std::vector<std::byte> bytes_;
    std::size_t head_ = 0;
};

}  // namespace torusmp::transport

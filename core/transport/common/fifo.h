// SPDX-License-Identifier: BSD-3-Clause
// A queue in one block of memory that grows and never shrinks: in steady state it does not
// allocate.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace torusmp::transport {

template <class T>
class Fifo {
  public:
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    const T& front() const {
        TORUSMP_ASSERT(size_ != 0);
        return items_[first_];
    }

    void push_back(const T& item) {
        if (size_ == items_.size()) grow();
        items_[(first_ + size_) & (items_.size() - 1)] = item;
        ++size_;
    }
    void push_front(const T& item) {
        if (size_ == items_.size()) grow();
        first_ = (first_ + items_.size() - 1) & (items_.size() - 1);
        items_[first_] = item;
        ++size_;
    }
    void pop_front() {
        TORUSMP_ASSERT(size_ != 0 && size_ <= items_.size(), size_, items_.size());
        first_ = (first_ + 1) & (items_.size() - 1);
        --size_;
    }

  private:
    void grow() {
        std::vector<T> larger(items_.empty() ? 4 : 2 * items_.size());  // a power of two
        for (std::size_t i = 0; i < size_; ++i)
            larger[i] = items_[(first_ + i) & (items_.size() - 1)];
        items_ = std::move(larger);
        first_ = 0;
    }

    std::vector<T> items_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace torusmp::transport

// SPDX-License-Identifier: BSD-3-Clause
// A queue of bytes that wait to be sent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "core/transport/api/memory.h"

namespace torusmp::transport {

class ByteQueue {
  public:
    bool empty() const { return head_ == tail_; }
    std::size_t size() const { return tail_ - head_; }
    std::byte* front() { return memory_.get() + head_; }
    // Returns room at the end, for the caller to fill.
    std::byte* extend(std::size_t bytes) {
        if (bytes > room_ - tail_) make_room(bytes);
        tail_ += bytes;
        TORUSMP_ASSERT(head_ <= tail_ && tail_ <= room_, bytes, head_, tail_, room_);
        return memory_.get() + tail_ - bytes;
    }
    void push(ConstBytes bytes) {
        if (!bytes.empty()) std::copy(bytes.begin(), bytes.end(), extend(bytes.size()));
    }
    void pop(std::size_t bytes) {
        TORUSMP_ASSERT(bytes <= size(), bytes, head_, tail_, room_);
        head_ += bytes;
        if (head_ == tail_) clear();
    }
    void clear() { head_ = tail_ = 0; }

  private:
    // Makes room by moving the bytes to the front, if half of the memory is free there, or else by
    // doubling the memory.
    void make_room(std::size_t bytes) {
        const std::size_t queued = size();
        if (head_ >= room_ / 2 && bytes <= room_ - queued) {
            std::copy(front(), front() + queued, memory_.get());
        } else {
            const std::size_t room = std::max(2 * room_, queued + bytes);
            auto memory = std::make_unique_for_overwrite<std::byte[]>(room);
            std::copy(front(), front() + queued, memory.get());
            memory_ = std::move(memory);
            room_ = room;
        }
        head_ = 0;
        tail_ = queued;
    }

    std::unique_ptr<std::byte[]>
        memory_;  // not cleared, since bytes are written before they are queued
    std::size_t room_ = 0;
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
};

}  // namespace torusmp::transport

// SPDX-License-Identifier: BSD-3-Clause
// FIFO of items that wait for credits, linked through the items.
#pragma once

#include <utility>

#include "base/assert.h"
#include "core/request.h"

namespace torusmp::core {

class OutgoingQueue {
  public:
    bool empty() const { return head_ == nullptr; }
    Outgoing* front() const { return head_; }
    void push(Outgoing& item) {
        TORUSMP_ASSERT(item.queued_after_ == nullptr && (head_ == nullptr || tail_ != &item),
                       &item);
        item.queued_after_ = nullptr;
        (head_ == nullptr ? head_ : tail_->queued_after_) = &item;
        tail_ = &item;
    }
    Outgoing* pop() {
        TORUSMP_ASSERT(head_ != nullptr);
        TORUSMP_ASSERT((head_ == tail_) == (head_->queued_after_ == nullptr), head_, tail_);
        Outgoing* item = head_;
        head_ = item->queued_after_;
        // Shows push() that the item is in no queue.
        if constexpr (base::assertions) item->queued_after_ = nullptr;
        return item;
    }

    // Precondition: the item is in this queue.
    void remove(Outgoing& item) {
        Outgoing* before = nullptr;
        Outgoing* it = head_;
        while (it != &item) {
            TORUSMP_ASSERT(it != tail_ && it != nullptr, &item, head_, tail_);
            before = std::exchange(it, it->queued_after_);
        }
        (before == nullptr ? head_ : before->queued_after_) = item.queued_after_;
        if (tail_ == &item) tail_ = before;
        item.queued_after_ = nullptr;
    }

  private:
    Outgoing* head_ = nullptr;
    Outgoing* tail_ = nullptr;
};

}  // namespace torusmp::core

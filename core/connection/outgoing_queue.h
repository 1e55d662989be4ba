// SPDX-License-Identifier: BSD-3-Clause
// FIFO of items that wait for credits, linked through the items.
#pragma once

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

  private:
    Outgoing* head_ = nullptr;
    Outgoing* tail_ = nullptr;
};

}  // namespace torusmp::core

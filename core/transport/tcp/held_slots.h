// SPDX-License-Identifier: BSD-3-Clause
// The packets of a virtual channel that core has not taken yet, oldest first: as many slots as the
// peer has credits, which take memory only once a packet is held.
//
// Owned by a TcpChannel and used under the Runtime's lock.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "base/assert.h"
#include "core/transport/api/channel.h"

namespace torusmp::transport::tcp {

class HeldSlots {
  public:
    bool empty() const { return count_ == 0; }
    std::size_t size() const { return count_; }

    // `slots` is the number of slots, each for a payload of slot_bytes; both are the same in all
    // calls. Returns false if every slot is in use.
    bool push(const PacketHeader& header, const std::byte* payload, std::size_t slots,
              std::size_t slot_bytes) {
        if (count_ == slots) return false;
        if (memory_ == nullptr) {
            slots_ = slots;
            stride_ = sizeof header + slot_bytes;
            memory_ = std::make_unique_for_overwrite<std::byte[]>(slots_ * stride_);
        }
        TORUSMP_ASSERT(first_ < slots_ && slots == slots_ && header.length <= slot_bytes, first_,
                       slots_, slots, header.length);
        std::byte* const slot = memory_.get() + (first_ + count_) % slots_ * stride_;
        std::memcpy(slot, &header, sizeof header);
        if (header.length != 0) std::memcpy(slot + sizeof header, payload, header.length);
        ++count_;
        return true;
    }

    PacketHeader header() const {
        PacketHeader header;
        std::memcpy(&header, memory_.get() + first_ * stride_, sizeof header);
        return header;
    }
    const std::byte* payload() const {
        return memory_.get() + first_ * stride_ + sizeof(PacketHeader);
    }
    void pop() {
        TORUSMP_ASSERT(count_ != 0, first_, slots_);
        first_ = (first_ + 1) % slots_;
        --count_;
    }
    // Keeps the memory, of which core may be reading a slot.
    void clear() { first_ = count_ = 0; }

  private:
    std::unique_ptr<std::byte[]> memory_;
    std::size_t slots_ = 0, stride_ = 0;
    std::size_t first_ = 0, count_ = 0;
};

}  // namespace torusmp::transport::tcp

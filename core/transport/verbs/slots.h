// SPDX-License-Identifier: BSD-3-Clause
// Memory for packets: slots of one size. Each belongs to the device of the channels for which it
// was made, and is registered with another one when the first packet that arrived in it is sent
// through that device in place. If nothing is relayed, memory is registered once.
//
// A slot is posted to receive, holds a waiting packet, or holds one that is being sent; its current
// user returns it. Owned by the VerbsInterface; one thread at a time may call. Taking and returning
// slots do not allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/transport/verbs/device.h"

namespace torusmp::transport::verbs {

class VerbsChannel;

class Slots {
  public:
    struct Chunk;
    struct Slot {
        std::byte* memory = nullptr;
        Chunk* chunk = nullptr;
        VerbsChannel* channel = nullptr;  // where it is posted to receive
        Slot* next = nullptr;             // in its current list
    };
    struct Chunk {
        ~Chunk();
        const Device* device = nullptr;
        std::byte* memory = nullptr;
        std::size_t bytes = 0;
        std::vector<MemoryRegion> regions;  // by device; null until needed
        std::vector<bool> refused;          // by device
        std::vector<Slot> slots;
    };

    // A slot has `bytes` bytes. The devices must outlive the slots.
    Slots(std::size_t bytes, const std::vector<std::unique_ptr<Device>>& devices)
        : stride_((bytes + 63) / 64 * 64), devices_(devices) {}

    // Makes `count` more for a device. Throws std::runtime_error with the limit of locked memory,
    // the amount requested and the remedy.
    void add(const Device& device, std::size_t count);
    // Whether that many slots of a device are free.
    bool has(const Device& device, std::size_t count) const {
        const Slot* it = free_[device.index()];
        for (; it != nullptr && count != 0; --count) it = it->next;
        return count == 0;
    }
    std::size_t bytes() const { return stride_; }
    std::size_t registered() const { return registered_; }  // bytes, counted for each device

    // Null if all slots of this device are in use.
    Slot* take(const Device& device) {
        Slot*& free = free_[device.index()];
        Slot* const slot = free;
        if (slot != nullptr) free = slot->next;
        return slot;
    }
    void give(Slot* slot) {
        Slot*& free = free_[slot->chunk->device->index()];
        slot->channel = nullptr;
        slot->next = free;
        free = slot;
    }
    // Whether packets can be sent from this slot through that device.
    bool usable(const Slot& slot, const Device& device) {
        return slot.chunk->regions[device.index()] != nullptr ||
               register_with(*slot.chunk, device) == 0;
    }
    // Precondition: usable.
    static std::uint32_t key(const Slot& slot, const Device& device) {
        return slot.chunk->regions[device.index()]->lkey;
    }

  private:
    int register_with(Chunk& chunk, const Device& device);  // 0, or errno

    std::size_t stride_;
    const std::vector<std::unique_ptr<Device>>& devices_;
    std::vector<std::unique_ptr<Chunk>> chunks_;
    std::vector<Slot*> free_;  // by device
    std::size_t registered_ = 0;
};

using Slot = Slots::Slot;

// The error text for memory that cannot be registered (errno), with the remedy.
std::string registration_trouble(const Device& device, std::size_t bytes, int error);

}  // namespace torusmp::transport::verbs

// Memory for packets: slots of one size, registered with all devices of an interface, so that a
// packet which arrived over one link leaves over another from where it lies.
//
// A slot is posted to receive, holds a packet that waits, or holds one that is on its way out; who
// has it gives it back. Owned by the VerbsInterface; one thread at a time. Taking and giving
// allocate nothing.
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
        const Chunk* chunk = nullptr;
        VerbsChannel* channel = nullptr;  // where it is posted to receive
        Slot* next = nullptr;             // in the list it stands in
    };
    struct Chunk {
        ~Chunk();
        std::byte* memory = nullptr;
        std::size_t bytes = 0;
        std::vector<MemoryRegion> regions;  // by device
        std::vector<Slot> slots;
    };

    // `bytes`: of each slot. The devices must outlive the slots.
    Slots(std::size_t bytes, const std::vector<std::unique_ptr<Device>>& devices)
        : stride_((bytes + 63) / 64 * 64), devices_(devices) {}

    // Makes `count` more. Throws std::runtime_error that says how much memory may be locked, how
    // much was asked for and what to do.
    void add(std::size_t count);
    std::size_t bytes() const { return stride_; }
    std::size_t registered() const { return registered_; }  // bytes, of one device

    // Null: all are in use.
    Slot* take() {
        Slot* const slot = free_;
        if (slot != nullptr) free_ = slot->next;
        return slot;
    }
    void give(Slot* slot) {
        slot->channel = nullptr;
        slot->next = free_;
        free_ = slot;
    }
    static std::uint32_t key(const Slot& slot, const Device& device) {
        return slot.chunk->regions[device.index()]->lkey;
    }

  private:
    std::size_t stride_;
    const std::vector<std::unique_ptr<Device>>& devices_;
    std::vector<std::unique_ptr<Chunk>> chunks_;
    Slot* free_ = nullptr;
    std::size_t registered_ = 0;
};

using Slot = Slots::Slot;

// What is wrong where memory cannot be registered (errno), and what to do about it.
std::string registration_trouble(const Device& device, std::size_t bytes, int error);

}  // namespace torusmp::transport::verbs

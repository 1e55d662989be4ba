// SPDX-License-Identifier: BSD-3-Clause
// Blocks of memory for data that must outlive its slot: unexpected messages, packets that arrived
// too early, control packets that wait for a credit.
//
// Freed blocks are kept by size class, four classes for each doubling, so that nothing is allocated
// in a steady state. Large blocks, and blocks beyond `most_kept` bytes in all, return to the heap.
// One thread at a time may call.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>

#include "base/assert.h"

namespace torusmp::core {

class Pool {
  public:
    Pool() = default;
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() {
        for (Free* head : free_) {
            while (head != nullptr) {
                Free* next = head->next;
                ::operator delete(head);
                head = next;
            }
        }
    }

    void* take(std::size_t bytes) {
        const unsigned which = class_of(bytes);
        if (which >= classes) return ::operator new(bytes);
        if (Free* block = free_[which]) {
            TORUSMP_ASSERT(kept_ >= size_of(which), kept_, which, bytes);
            free_[which] = block->next;
            kept_ -= size_of(which);
            return block;
        }
        return ::operator new(size_of(which));
    }

    void give(void* block, std::size_t bytes) {
        const unsigned which = class_of(bytes);
        TORUSMP_ASSERT(block != nullptr, bytes);
        TORUSMP_ASSERT(which >= classes || block != free_[which], block, bytes);  // freed twice
        if (which >= classes || kept_ + size_of(which) > most_kept) {
            ::operator delete(block);
            return;
        }
        kept_ += size_of(which);
        free_[which] = ::new (block) Free{free_[which]};
    }
    // The bytes that a block for that many bytes occupies.
    static std::size_t rounded(std::size_t bytes) {
        const unsigned which = class_of(bytes);
        return which >= classes ? bytes : size_of(which);
    }

  private:
    struct Free {
        Free* next;
    };
    static constexpr std::size_t most_kept = std::size_t{4} << 20;
    static constexpr unsigned smallest_bits = 6;
    static constexpr unsigned classes = 1 + 4 * 11;  // 64 B, 80, 96, 112, 128, 160 to 128 KiB

    static unsigned class_of(std::size_t bytes) {
        const std::size_t last = bytes == 0 ? 0 : bytes - 1;
        const auto bits = unsigned(std::bit_width(last));
        if (bits <= smallest_bits) return 0;
        return 1 + 4 * (bits - smallest_bits - 1) + (unsigned(last >> (bits - 3)) & 3);
    }
    static std::size_t size_of(unsigned which) {
        if (which == 0) return std::size_t{1} << smallest_bits;
        return std::size_t{5 + (which - 1) % 4} << ((which - 1) / 4 + smallest_bits - 2);
    }

    std::array<Free*, classes> free_{};
    std::size_t kept_ = 0;  // bytes of free blocks
};

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
// Blocks of memory for what must outlive its slot: unexpected messages, packets that came too
// early, control packets that wait for a credit.
//
// Freed blocks are kept by power-of-two class, so that nothing is allocated in a steady state.
// Large blocks go back to the heap. One thread at a time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>

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
            free_[which] = block->next;
            return block;
        }
        return ::operator new (std::size_t{1} << (which + smallest_bits));
    }

    void give(void* block, std::size_t bytes) {
        const unsigned which = class_of(bytes);
        if (which >= classes) {
            ::operator delete(block);
            return;
        }
        free_[which] = ::new (block) Free{free_[which]};
    }

  private:
    struct Free {
        Free* next;
    };
    static constexpr unsigned smallest_bits = 6;
    static constexpr unsigned classes = 12;  // 64 B to 128 KiB

    static unsigned class_of(std::size_t bytes) {
        const unsigned bits = unsigned(std::bit_width(bytes == 0 ? 0 : bytes - 1));
        return bits <= smallest_bits ? 0 : bits - smallest_bits;
    }

    std::array<Free*, classes> free_{};
};

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
// The memory of all objects that handles point to: one window of addresses, so that an invalid
// handle is recognised by one comparison, and never dereferenced.
//
// The window is reserved once and filled from its beginning; memory is never released. Unused
// memory reads as zeros, which means dead objects. Any thread may call.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace torusmp::mpi {

class ObjectMemory {
  public:
    // Objects lie at multiples of this.
    static constexpr std::size_t alignment = alignof(void*);

    // Whether an object may lie at that address: it can be read, and is aligned. (If the address
    // space of the process is limited, only a part of the window is reserved.)
    [[gnu::always_inline]] static bool holds(std::uintptr_t address) {
        constexpr int low = std::countr_zero(alignment);
        // Rotated, the low bits become the highest, and must be zero.
        return std::rotr(address, low) >> (window_bits - low) ==
               window_.load(std::memory_order_relaxed);
    }
    // Zeroed, in units of a cache line. Throws std::bad_alloc if the window is full.
    static std::byte* take(std::size_t bytes);

  private:
    // Reserved addresses cost nothing: 16 GiB hold tens of millions of requests.
    static constexpr int window_bits = sizeof(void*) == 8 ? 34 : 28;
    // The high bits of its addresses; initially a value that no address has.
    static inline constinit std::atomic<std::uintptr_t> window_{~std::uintptr_t{0}};
};

}  // namespace torusmp::mpi

// SPDX-License-Identifier: BSD-3-Clause
// The locks of one member's window memory: one for epochs, shared or exclusive, and one that makes
// accumulates atomic.
//
// A Control lies in memory that all members on the host of its owner have mapped, or in the owner's
// own memory if nobody else maps it. A member that maps it takes the locks itself; the owner takes
// them for the members of other hosts. So each lock has one holder protocol, whatever path an
// operation takes. Any thread of any process may call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/request.h"

namespace torusmp::core::rma {

struct alignas(128) Control {
    // The epoch lock: the number of shared holders, or exclusive_bit and the rank that holds it.
    static constexpr std::uint32_t exclusive_bit = 1u << 31;
    std::atomic<std::uint32_t> epoch{0};
    // Those that wait for the epoch lock; whoever releases it wakes the members if this is not 0.
    std::atomic<std::uint32_t> waiting{0};
    // The process that is in the middle of an accumulate; 0 if none.
    std::atomic<std::int32_t> busy{0};

    bool try_lock(bool exclusive, Rank holder);
    // Returns whether somebody waits. Precondition: the caller, or the member for which it acts,
    // holds the lock.
    bool unlock(bool exclusive);
    // The rank that holds the lock exclusively; any_source if there is none.
    Rank exclusive_holder() const;
};

// Holds Control::busy. The holder copies and computes a few KiB and never waits, so others spin. A
// process that died inside has lost its lock: the next one takes it.
class BusyLock {
  public:
    explicit BusyLock(Control& control);
    ~BusyLock() { control_.busy.store(0, std::memory_order_release); }
    BusyLock(const BusyLock&) = delete;
    BusyLock& operator=(const BusyLock&) = delete;

  private:
    Control& control_;
};

// An operation of accumulates on elements. `combine` computes inout[i] = inout[i] op in[i]; null to
// replace, or, with `keeps`, to leave the target as it is.
struct Arithmetic {
    using Combine = void (*)(void* inout, const void* in, std::size_t count, const void* closure);
    Combine combine = nullptr;
    bool keeps = false;
    std::size_t element = 1;  // bytes
};

// Applies origin to target under the lock, a few KiB at a time, and stores what was there before in
// `result` unless that is null. All have the same number of bytes, a multiple of the element; the
// origin of an operation that keeps is not read.
void apply(Control& control, const Arithmetic& arithmetic, const Buffer& origin,
           const Buffer& target, const Buffer* result);
// Stores `desired` in target if it equals `expected`, and the former value in result.
void compare_and_swap(Control& control, std::size_t bytes, const std::byte* expected,
                      const std::byte* desired, std::byte* target, std::byte* result);
// Copies bytes between two buffers of any layout.
void copy(const Buffer& from, const Buffer& to);

}  // namespace torusmp::core::rma

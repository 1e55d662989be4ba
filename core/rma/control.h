// SPDX-License-Identifier: BSD-3-Clause
// The locks of one member's window memory: one for epochs, shared or exclusive, and one that makes
// accumulates atomic.
//
// A Control lies in memory that all members on the host of its owner have mapped, or in the owner's
// own memory if no other process maps it. A member that maps it takes the locks itself; the owner
// takes them for the members of other hosts. So each lock has one holder protocol, whatever path an
// operation takes. Any thread of any process may call.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/request.h"

namespace torusmp::core::rma {

// Each process that maps a Control has a place in it, where it counts the shared locks that it
// holds for itself and for members of other hosts. So what a process holds can be released when it
// dies.
class alignas(128) Control {
  public:
    enum class Try : std::uint8_t {
        taken,
        held,      // by others
        withdrawn  // it was free for a moment, in which others may have found it taken: wake them
    };

    explicit Control(std::uint32_t places = 1) : places_(places) {}
    // Bytes of a Control with so many places. Those beyond the object itself must be 0.
    static std::size_t bytes(std::size_t places);

    // A shared lock is free if no rank holds an exclusive one, even if ranks wait for one: a rank
    // that waits for one may hold others.
    Try try_lock(bool exclusive, Rank holder, std::uint32_t place);
    // Returns whether a rank waits. Precondition: the caller, or the member for which it acts,
    // holds the lock.
    bool unlock(bool exclusive, std::uint32_t place);
    // Releases what a dead process held, whose rank and place these are.
    void release(Rank dead, std::uint32_t place);
    // The rank that holds the lock exclusively; any_source if there is none.
    Rank exclusive_holder() const;
    // Whether a process holds shared locks.
    bool shares(std::uint32_t place) const { return slot(place).load() != 0; }
    // How often it was locked exclusively.
    std::uint32_t grants() const { return grants_.load(std::memory_order_relaxed); }

    // The number of ranks that wait for the lock; a rank that releases it wakes the members if this
    // is not 0.
    std::atomic<std::uint32_t> waiting{0};
    // The process that is in the middle of an accumulate; 0 if none.
    std::atomic<std::int32_t> busy{0};

  private:
    static constexpr std::uint32_t exclusive_bit = 1u << 31;
    static constexpr std::size_t inside = 27;  // slots

    const std::atomic<std::uint32_t>& slot(std::size_t place) const {
        return reinterpret_cast<const std::atomic<std::uint32_t>*>(
            this + 1)[std::ptrdiff_t(place) - std::ptrdiff_t(inside)];
    }
    std::atomic<std::uint32_t>& slot(std::size_t place) {
        return const_cast<std::atomic<std::uint32_t>&>(std::as_const(*this).slot(place));
    }
    bool is_shared() const;

    std::atomic<std::uint32_t> exclusive_{0};  // exclusive_bit and the rank that holds it
    std::atomic<std::uint32_t> grants_{0};
    const std::uint32_t places_;
    std::array<std::atomic<std::uint32_t>, inside> slots_{};  // the first; others follow the object
};
static_assert(sizeof(Control) == 128);

// Holds Control::busy. The holder copies and computes a few KiB and never waits, so others spin. A
// process that died inside has lost its lock: the next one takes it.
class BusyLock {
  public:
    explicit BusyLock(Control& control) : control_(control) {
        std::int32_t holder = 0;
        if (!control.busy.compare_exchange_strong(holder, own_process(), std::memory_order_acquire))
            [[unlikely]]
            wait();
    }
    ~BusyLock() { control_.busy.store(0, std::memory_order_release); }
    BusyLock(const BusyLock&) = delete;
    BusyLock& operator=(const BusyLock&) = delete;

  private:
    static std::int32_t own_process() {
        const std::int32_t known = process.load(std::memory_order_relaxed);
        return known != 0 ? known : find_process();
    }
    static std::int32_t find_process();
    void wait();
    static inline constinit std::atomic<std::int32_t> process{0};

    Control& control_;
};

// An operation of accumulates on elements. `combine` computes result[i] = a[i] op b[i], where the
// result may be in the memory of a or of b; null to replace, or, with `keeps`, to leave the target
// as it is.
struct Arithmetic {
    using Combine = void (*)(void* result, const void* a, const void* b, std::size_t count,
                             const void* closure);
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

// SPDX-License-Identifier: BSD-3-Clause
#include "core/rma/control.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/assert.h"

namespace torusmp::core::rma {
namespace {

constexpr std::size_t stretch = 8192;      // bytes that are copied, or combined, at a time
constexpr unsigned spins_per_yield = 256;  // a holder that is not running needs the core
constexpr unsigned yields_per_look = 256;

std::int32_t own_process() {
    static const auto process = std::int32_t(getpid());
    return process;
}

bool is_dead(std::int32_t process) {
    return process != 0 && kill(process, 0) != 0 && errno == ESRCH;
}

// Bytes of a buffer as one block: in place, or packed into `room`.
const std::byte* block_of(const Buffer& buffer, std::size_t from, std::size_t bytes,
                          std::byte* room) {
    if (buffer.layout == nullptr) return buffer.base + from;
    buffer.pack(from, room, bytes);
    return room;
}

}  // namespace

bool Control::try_lock(bool exclusive, Rank holder) {
    std::uint32_t found = epoch.load(std::memory_order_relaxed);
    while (exclusive ? found == 0 : (found & exclusive_bit) == 0) {
        const std::uint32_t wanted = exclusive ? exclusive_bit | std::uint32_t(holder) : found + 1;
        if (epoch.compare_exchange_weak(found, wanted)) return true;
    }
    return false;
}

bool Control::unlock(bool exclusive) {
    if (exclusive) {
        TORUSMP_ASSERT((epoch.load() & exclusive_bit) != 0, epoch.load());
        epoch.store(0);
    } else {
        [[maybe_unused]] const std::uint32_t before = epoch.fetch_sub(1);
        TORUSMP_ASSERT(before != 0 && (before & exclusive_bit) == 0, before);
    }
    return waiting.load() != 0;
}

Rank Control::exclusive_holder() const {
    const std::uint32_t found = epoch.load(std::memory_order_relaxed);
    return (found & exclusive_bit) != 0 ? Rank(found & ~exclusive_bit) : any_source;
}

BusyLock::BusyLock(Control& control) : control_(control) {
    const std::int32_t self = own_process();
    for (unsigned turn = 1;; ++turn) {
        std::int32_t found = 0;
        if (control.busy.load(std::memory_order_relaxed) == 0 &&
            control.busy.compare_exchange_weak(found, self, std::memory_order_acquire))
            return;
        if (turn % spins_per_yield != 0) continue;
        sched_yield();
        if (turn % (spins_per_yield * yields_per_look) != 0) continue;
        found = control.busy.load(std::memory_order_relaxed);
        if (is_dead(found) &&
            control.busy.compare_exchange_strong(found, self, std::memory_order_acquire))
            return;
    }
}

void apply(Control& control, const Arithmetic& arithmetic, const Buffer& origin,
           const Buffer& target, const Buffer* result) {
    alignas(64) std::array<std::byte, stretch> operands, values;
    const std::size_t step = stretch / arithmetic.element * arithmetic.element;
    for (std::size_t from = 0; from < target.bytes; from += step) {
        const std::size_t bytes = std::min(step, target.bytes - from);
        const std::byte* const in =
            arithmetic.keeps ? nullptr : block_of(origin, from, bytes, operands.data());
        const bool in_place = target.layout == nullptr;
        {
            const BusyLock lock(control);
            const std::byte* const old =
                in_place ? target.base + from : block_of(target, from, bytes, values.data());
            if (result != nullptr) result->unpack(from, old, bytes);
            if (!arithmetic.keeps && arithmetic.combine == nullptr) {
                target.unpack(from, in, bytes);
            } else if (!arithmetic.keeps) {
                std::byte* const inout = in_place ? target.base + from : values.data();
                arithmetic.combine(inout, in, bytes / arithmetic.element, nullptr);
                if (!in_place) target.unpack(from, inout, bytes);
            }
        }
    }
}

void compare_and_swap(Control& control, std::size_t bytes, const std::byte* expected,
                      const std::byte* desired, std::byte* target, std::byte* result) {
    const BusyLock lock(control);
    const bool equal = std::memcmp(target, expected, bytes) == 0;
    std::memcpy(result, target, bytes);
    if (equal) std::memcpy(target, desired, bytes);
}

void copy(const Buffer& from, const Buffer& to) {
    TORUSMP_ASSERT(from.bytes == to.bytes, from.bytes, to.bytes);
    if (to.layout == nullptr) return from.pack(0, to.base, from.bytes);
    if (from.layout == nullptr) return to.unpack(0, from.base, from.bytes);
    std::array<std::byte, stretch> room;
    for (std::size_t at = 0; at < from.bytes; at += room.size()) {
        const std::size_t bytes = std::min(room.size(), from.bytes - at);
        from.pack(at, room.data(), bytes);
        to.unpack(at, room.data(), bytes);
    }
}

}  // namespace torusmp::core::rma

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

std::size_t Control::bytes(std::size_t places) {
    const std::size_t beyond = places > inside ? (places - inside) * sizeof(slots_[0]) : 0;
    return sizeof(Control) + (beyond + alignof(Control) - 1) / alignof(Control) * alignof(Control);
}

bool Control::is_shared() const {
    for (std::size_t place = 0; place < places_; ++place)
        if (slot(place).load() != 0) return true;
    return false;
}

// Each side announces itself and then looks for the other, so at least one of two sees the other.
Control::Try Control::try_lock(bool exclusive, Rank holder, std::uint32_t place) {
    TORUSMP_ASSERT(place < places_, place, places_);
    if (exclusive_.load() != 0 || (exclusive && is_shared())) return Try::held;
    if (!exclusive) {
        slot(place).fetch_add(1);
        if (exclusive_.load() == 0) return Try::taken;
        slot(place).fetch_sub(1);
        return Try::withdrawn;
    }
    std::uint32_t none = 0;
    if (!exclusive_.compare_exchange_strong(none, exclusive_bit | std::uint32_t(holder)))
        return Try::held;
    if (is_shared()) {
        exclusive_.store(0);
        return Try::withdrawn;
    }
    grants_.store(grants() + 1, std::memory_order_relaxed);
    return Try::taken;
}

bool Control::unlock(bool exclusive, std::uint32_t place) {
    if (exclusive) {
        TORUSMP_ASSERT(exclusive_.load() != 0, exclusive_.load());
        exclusive_.store(0);
    } else {
        [[maybe_unused]] const std::uint32_t before = slot(place).fetch_sub(1);
        TORUSMP_ASSERT(before != 0, before, place);
    }
    return waiting.load() != 0;
}

void Control::release(Rank dead, std::uint32_t place) {
    std::uint32_t held = exclusive_bit | std::uint32_t(dead);
    exclusive_.compare_exchange_strong(held, 0);
    slot(place).store(0);
}

Rank Control::exclusive_holder() const {
    const std::uint32_t found = exclusive_.load(std::memory_order_relaxed);
    return found != 0 ? Rank(found & ~exclusive_bit) : any_source;
}

std::int32_t BusyLock::find_process() {
    process.store(std::int32_t(getpid()), std::memory_order_relaxed);
    return process.load(std::memory_order_relaxed);
}

void BusyLock::wait() {
    const std::int32_t self = own_process();
    for (unsigned turn = 1;; ++turn) {
        std::int32_t found = 0;
        if (control_.busy.load(std::memory_order_relaxed) == 0 &&
            control_.busy.compare_exchange_weak(found, self, std::memory_order_acquire))
            return;
        if (turn % spins_per_yield != 0) continue;
        sched_yield();
        if (turn % (spins_per_yield * yields_per_look) != 0) continue;
        found = control_.busy.load(std::memory_order_relaxed);
        if (is_dead(found) &&
            control_.busy.compare_exchange_strong(found, self, std::memory_order_acquire))
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
                std::byte* const result_here = in_place ? target.base + from : values.data();
                arithmetic.combine(result_here, old, in, bytes / arithmetic.element, nullptr);
                if (!in_place) target.unpack(from, result_here, bytes);
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

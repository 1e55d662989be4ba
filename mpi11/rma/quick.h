// SPDX-License-Identifier: BSD-3-Clause
// Short ways for accesses that need no layout, no packet and no conversion: elements of one
// predefined type on both sides, in memory that this process maps, under a lock that it holds.
//
// Each function returns false, having done nothing, for any other access and for any mistake;
// access.cpp and locks.cpp do those, with all checks and messages.
#pragma once

#include <cstring>

#include "mpi11/coll/operation.h"
#include "mpi11/rma/arithmetic.h"
#include "mpi11/rma/window.h"

namespace torusmp::mpi::windows::quick {

struct Place {
    core::rma::Window* window;
    std::byte* memory;
    core::rma::Control* control;
    const Datatype* type;
    std::size_t bytes;
};

// Finds the target's memory.
[[gnu::always_inline]] inline bool find_place(MPI_Win win, int target, MPI_Aint displacement,
                                              MPI_Count count, MPI_Datatype datatype,
                                              Place& place) {
    constexpr MPI_Count most = MPI_Count{1} << 31;
    if (!hot.running) [[unlikely]]
        return false;
    Window* const window = find<Window>(win);
    const Datatype* const type = find<Datatype>(datatype);
    if (window == nullptr || type == nullptr || !type->predefined() ||
        type->size() != std::size_t(type->extent()) || count <= 0 || count > most ||
        std::size_t(unsigned(target)) >= window->core.parts.size() ||
        window->locked[unsigned(target)].load(std::memory_order_acquire) == Window::Lock::none ||
        window->dynamic() || window->log != nullptr)
        return false;
    const core::rma::Window::Part& part = window->core.parts[unsigned(target)];
    const Window::Member& member = window->members[unsigned(target)];
    const std::size_t bytes = std::size_t(count) * type->size();
    MPI_Aint begin = 0;
    if (part.memory == nullptr || displacement < 0 ||
        __builtin_mul_overflow(displacement, member.unit, &begin) || begin > member.size ||
        bytes > std::size_t(member.size - begin))
        return false;
    place = {&window->core, part.memory + begin, part.control, type, bytes};
    return true;
}

inline void move(void* to, const void* from, std::size_t bytes) {
    if (bytes == 8)
        __builtin_memcpy(to, from, 8);
    else
        std::memcpy(to, from, bytes);
}

[[gnu::always_inline]] inline bool put(const void* origin, MPI_Count origin_count,
                                       MPI_Datatype origin_type, int target, MPI_Aint displacement,
                                       MPI_Count count, MPI_Datatype type, MPI_Win win) {
    Place place;
    if (origin == nullptr || origin_type != type || origin_count != count ||
        !find_place(win, target, displacement, count, type, place))
        return false;
    move(place.memory, origin, place.bytes);
    place.window->count_direct();
    return true;
}

[[gnu::always_inline]] inline bool get(void* origin, MPI_Count origin_count,
                                       MPI_Datatype origin_type, int target, MPI_Aint displacement,
                                       MPI_Count count, MPI_Datatype type, MPI_Win win) {
    Place place;
    if (origin == nullptr || origin_type != type || origin_count != count ||
        !find_place(win, target, displacement, count, type, place))
        return false;
    move(origin, place.memory, place.bytes);
    place.window->count_direct();
    return true;
}

template <class Word>
inline void add(core::rma::Control& control, std::byte* there, const void* value, void* result) {
    Word before, more;
    std::memcpy(&more, value, sizeof more);
    const core::rma::BusyLock lock(control);
    std::memcpy(&before, there, sizeof before);
    more = Word(more + before);
    std::memcpy(there, &more, sizeof more);
    if (result != nullptr) std::memcpy(result, &before, sizeof before);
}

inline bool is_integer(const Datatype& type) {
    const Family family = facts(type.basic()).family;
    return family == Family::integer || family == Family::multi_language;
}

// Accumulates few elements. `result` receives their former values, or is null.
inline bool accumulate(const void* origin, void* result, int target, MPI_Aint displacement,
                       MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Win win) {
    constexpr std::size_t most = 4096;  // bytes: the lock is held for a short time
    Place place;
    const bool keeps = op == MPI_NO_OP && result != nullptr;
    if ((origin == nullptr && !keeps) ||
        !find_place(win, target, displacement, count, type, place) || place.bytes > most)
        return false;
    if (op == MPI_SUM && count == 1 && is_integer(*place.type)) {
        if (place.bytes == 8) {
            add<std::uint64_t>(*place.control, place.memory, origin, result);
            place.window->count_direct();
            return true;
        }
        if (place.bytes == 4) {
            add<std::uint32_t>(*place.control, place.memory, origin, result);
            place.window->count_direct();
            return true;
        }
    }
    const Op* const chosen = find<Op>(op);
    if (chosen == nullptr || !chosen->built_in()) return false;
    const bool replaces = op == MPI_REPLACE;
    collectives::Combine const combine =
        chosen->what == Op::What::built_in ? loop_of(chosen->code, place.type->basic()) : nullptr;
    if (!replaces && !keeps && combine == nullptr) return false;
    place.window->count_direct();
    const core::rma::BusyLock lock(*place.control);
    if (result != nullptr) move(result, place.memory, place.bytes);
    if (replaces)
        move(place.memory, origin, place.bytes);
    else if (!keeps)
        combine(place.memory, place.memory, origin, std::size_t(count), nullptr);
    return true;
}

template <class Word>
inline void swap(core::rma::Control& control, std::byte* there, const void* wanted,
                 const void* origin, void* result) {
    Word expected, before, after;
    std::memcpy(&expected, wanted, sizeof expected);
    std::memcpy(&after, origin, sizeof after);
    {
        const core::rma::BusyLock lock(control);
        std::memcpy(&before, there, sizeof before);
        if (before == expected) std::memcpy(there, &after, sizeof after);
    }
    std::memcpy(result, &before, sizeof before);
}

inline bool compare_and_swap(const void* origin, const void* wanted, void* result,
                             MPI_Datatype type, int target, MPI_Aint displacement, MPI_Win win) {
    Place place;
    if (origin == nullptr || wanted == nullptr || result == nullptr ||
        !find_place(win, target, displacement, 1, type, place) || !is_integer(*place.type))
        return false;
    if (place.bytes == 8)
        swap<std::uint64_t>(*place.control, place.memory, wanted, origin, result);
    else if (place.bytes == 4)
        swap<std::uint32_t>(*place.control, place.memory, wanted, origin, result);
    else
        return false;
    place.window->count_direct();
    return true;
}

// Nothing of this rank is under way, so a flush only orders what was done to mapped memory.
inline bool flush(MPI_Win win, int target) {
    if (!hot.running) [[unlikely]]
        return false;
    Window* const window = find<Window>(win);
    if (window == nullptr || std::size_t(unsigned(target)) >= window->core.parts.size() ||
        window->locked[unsigned(target)].load(std::memory_order_relaxed) == Window::Lock::none ||
        window->log != nullptr || window->core.open.load(std::memory_order_relaxed) != 0 ||
        window->core.dirty.load(std::memory_order_relaxed) != 0)
        return false;
    order(*window);
    return true;
}

}  // namespace torusmp::mpi::windows::quick

// SPDX-License-Identifier: BSD-3-Clause
#include "core/rma/reach.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/connection/connection.h"

namespace torusmp::core::rma {
namespace {

constexpr std::size_t chunk = 8192;  // bytes that are packed, or combined, at a time

using transport::Bytes;
using transport::ConstBytes;
using transport::Transfer;

// Calls move(offset in the window, bytes, position) for the stretches of [from, from + bytes) of
// the place, until one fails.
template <class Move>
bool for_stretches(const Place& place, std::size_t from, std::size_t bytes, Move&& move) {
    for (std::size_t done = 0; done < bytes;) {
        Layout::Piece piece{std::ptrdiff_t(from + done), bytes - done};
        if (place.layout != nullptr) place.layout->pieces(from + done, bytes - done, {&piece, 1});
        if (!move(std::size_t(place.at + std::uint64_t(piece.offset)), piece.bytes, done))
            return false;
        done += piece.bytes;
    }
    return true;
}

bool store(const Reach& there, const Place& place, std::size_t from, ConstBytes bytes) {
    return for_stretches(
        place, from, bytes.size(), [&](std::size_t at, std::size_t length, std::size_t done) {
            const ConstBytes piece = bytes.subspan(done, length);
            return there.connection->channel->write(there.memory, at, {&piece, 1}, 0,
                                                    std::nullopt) == Transfer::done;
        });
}

bool load(const Reach& there, const Place& place, std::size_t from, Bytes bytes) {
    return for_stretches(
        place, from, bytes.size(), [&](std::size_t at, std::size_t length, std::size_t done) {
            const Bytes piece = bytes.subspan(done, length);
            return there.connection->channel->read(there.memory, at, {&piece, 1}, 0) ==
                   Transfer::done;
        });
}

}  // namespace

bool put(const Reach& there, const Place& place, const Buffer& from) {
    if (from.layout == nullptr) return store(there, place, 0, {from.base, from.bytes});
    std::array<std::byte, chunk> room;
    for (std::size_t at = 0; at < from.bytes; at += chunk) {
        const std::size_t bytes = std::min(chunk, from.bytes - at);
        from.pack(at, room.data(), bytes);
        if (!store(there, place, at, {room.data(), bytes})) return false;
    }
    return true;
}

bool get(const Reach& there, const Place& place, const Buffer& to) {
    if (to.layout == nullptr) return load(there, place, 0, {to.base, to.bytes});
    std::array<std::byte, chunk> room;
    for (std::size_t at = 0; at < to.bytes; at += chunk) {
        const std::size_t bytes = std::min(chunk, to.bytes - at);
        if (!load(there, place, at, {room.data(), bytes})) return false;
        to.unpack(at, room.data(), bytes);
    }
    return true;
}

bool apply(Control& control, const Reach& there, const Arithmetic& arithmetic, const Buffer& origin,
           const Place& place, const Buffer* result) {
    alignas(64) std::array<std::byte, chunk> operands, values;
    const std::size_t step = chunk / arithmetic.element * arithmetic.element;
    const bool loads = result != nullptr || arithmetic.combine != nullptr;
    for (std::size_t from = 0; from < place.bytes; from += step) {
        const std::size_t bytes = std::min(step, place.bytes - from);
        if (!arithmetic.keeps) origin.pack(from, operands.data(), bytes);
        const BusyLock lock(control);
        if (loads && !load(there, place, from, {values.data(), bytes})) return false;
        if (result != nullptr) result->unpack(from, values.data(), bytes);
        if (arithmetic.keeps) continue;
        const std::byte* stored = operands.data();
        if (arithmetic.combine != nullptr) {
            arithmetic.combine(values.data(), values.data(), operands.data(),
                               bytes / arithmetic.element, nullptr);
            stored = values.data();
        }
        if (!store(there, place, from, {stored, bytes})) return false;
    }
    return true;
}

bool compare_and_swap(Control& control, const Reach& there, const Place& place,
                      const std::byte* expected, const std::byte* desired, std::byte* result) {
    const BusyLock lock(control);
    if (!load(there, place, 0, {result, place.bytes})) return false;
    return std::memcmp(result, expected, place.bytes) != 0 ||
           store(there, place, 0, {desired, place.bytes});
}

}  // namespace torusmp::core::rma

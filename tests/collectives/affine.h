// SPDX-License-Identifier: BSD-3-Clause
// Maps x -> a x + b modulo 2^32 under composition: exact and associative, and not commutative, so
// that exchanged operands change the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/group/operation.h"

namespace torusmp::collectives::testing {

struct Affine {
    std::uint32_t a = 1;
    std::uint32_t b = 0;
    friend bool operator==(const Affine&, const Affine&) = default;
};

// First left, then right.
inline Affine then(Affine left, Affine right) {
    return {left.a * right.a, left.b * right.a + right.b};
}

inline void compose(void* result, const void* a, const void* b, std::size_t count, const void*) {
    for (std::size_t i = 0; i < count; ++i)
        static_cast<Affine*>(result)[i] =
            then(static_cast<const Affine*>(a)[i], static_cast<const Affine*>(b)[i]);
}

// The contribution of a member at position i: different for each member, and never the identity.
inline Affine contribution(std::uint64_t seed, int member, std::size_t i) {
    std::uint64_t x = seed * 0x9e3779b97f4a7c15u + std::uint64_t(member) * 0xbf58476d1ce4e5b9u +
                      (i + 1) * 0x94d049bb133111ebu;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 32;
    return {std::uint32_t(x) | 1u, std::uint32_t(x >> 32)};
}

inline std::vector<Affine> contributions(std::uint64_t seed, int member, std::size_t count) {
    std::vector<Affine> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = contribution(seed, member, i);
    return values;
}

// Nodes [from, to) in order, at position i.
inline Affine composed(std::uint64_t seed, int from, int to, std::size_t i) {
    Affine result;
    for (int member = from; member < to; ++member)
        result = then(result, contribution(seed, member, i));
    return result;
}

inline Operation affine_operation() {
    Operation operation{compose, sizeof(Affine)};
    operation.commutative = false;
    return operation;
}

}  // namespace torusmp::collectives::testing

// SPDX-License-Identifier: BSD-3-Clause
// Random numbers that depend on the seed and on a place, not on the order in which they are drawn.
//
// A lattice must be the same on 1 rank and on 256. So each number is a hash of (seed, stream,
// draw), with the global number of a site or link as the stream: no state is shared, and a rank
// does not need the draws of others. Plain values; each thread creates its own.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>

#include "spinor.h"

namespace wilson {

class CounterRandom {
  public:
    CounterRandom(std::uint64_t seed, std::uint64_t stream) : key_(mix(mix(seed) + stream)) {}

    std::uint64_t bits() { return mix(key_ + ++draw_ * weyl); }

    // A number in (0, 1) with 53 bits and a half, so that its logarithm is always finite.
    double uniform() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }

    // Real and imaginary part are normal with variance 1/2, so that the mean of |z|^2 is 1 (Box and
    // Muller).
    std::complex<double> gaussian() {
        const double radius = std::sqrt(-std::log(uniform()));
        const double angle = 2 * std::numbers::pi * uniform();
        return {radius * std::cos(angle), radius * std::sin(angle)};
    }

  private:
    static constexpr std::uint64_t weyl = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio, odd

    // A bijection that changes half of the output bits for any changed input bit.
    static std::uint64_t mix(std::uint64_t z) {
        z += weyl;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    std::uint64_t key_;
    std::uint64_t draw_ = 0;
};

// A Spinor of numbers drawn from gaussian().
inline Spinor random_spinor(CounterRandom& random) {
    Spinor s;
    for (int spin = 0; spin < 4; ++spin)
        for (int colour = 0; colour < 3; ++colour)
            set_component(s, spin, colour, random.gaussian());
    return s;
}

}  // namespace wilson

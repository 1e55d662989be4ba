// SPDX-License-Identifier: BSD-3-Clause
// A small seeded generator for simulations and property tests: the same numbers on all systems,
// unlike the distributions of the standard library. A plain value; one thread.
#pragma once

#include <cstdint>

namespace torusmp::transport::sim {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15u;
        return mix(state_);
    }
    // 0 <= result < bound; returns 0 if bound is 0.
    std::uint64_t below(std::uint64_t bound) {
        __extension__ using Wide = unsigned __int128;
        return std::uint64_t((Wide(next()) * bound) >> 64);
    }
    std::int64_t between(std::int64_t low, std::int64_t high) {  // both included
        return low + std::int64_t(below(std::uint64_t(high - low) + 1));
    }
    bool chance(double probability) {
        return double(next() >> 11) < probability * double(std::uint64_t{1} << 53);
    }

    static constexpr std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

  private:
    std::uint64_t state_;
};

}  // namespace torusmp::transport::sim

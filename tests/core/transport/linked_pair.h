// SPDX-License-Identifier: BSD-3-Clause
// A pair of interfaces with one link between them, for tests of the requirements on all transports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "pairs.h"
#include "recorder.h"

namespace torusmp::transport::testing {

inline constexpr int turns_enough = 200'000;
inline constexpr std::size_t contract_slot_bytes = 16384;

inline PortOptions port(std::uint32_t number, std::vector<int> credits) {
    PortOptions options;
    options.port = number;
    options.virtual_channels = int(credits.size());
    options.slot_bytes = contract_slot_bytes;
    for (std::size_t c = 0; c < credits.size(); ++c) options.credits[c] = std::uint8_t(credits[c]);
    return options;
}

// A pair with one link, port 4 of a to port 9 of b, connected from both sides.
struct Linked {
    Linked(const PairMaker& maker, std::vector<int> credits)
        : pair(maker.make({port(4, credits)}, {port(9, credits)})),
          a(pair->a().connect(pair->b().address(), {4, 9})),
          b(pair->b().connect(pair->a().address(), {9, 4})) {}

    template <class Done>
    bool pump(Done&& done) {
        for (int turn = 0; turn < turns_enough; ++turn) {
            if (done()) return true;
            pair->pass_time();
            pair->a().poll(at_a);
            pair->b().poll(at_b);
        }
        return done();
    }
    // Waits long enough for all packets under way, for tests that cannot see their arrival.
    void settle() {
        for (int turn = 0; turn < 200; ++turn) {
            pair->pass_time();
            pair->a().poll(at_a);
            pair->b().poll(at_b);
        }
    }

    const std::unique_ptr<Pair> pair;
    Channel& a;
    Channel& b;
    Recorder at_a;
    Recorder at_b;
};

}  // namespace torusmp::transport::testing

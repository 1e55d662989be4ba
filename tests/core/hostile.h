// SPDX-License-Identifier: BSD-3-Clause
// A Runtime with a hostile neighbour, which sends arbitrary bytes as packets; only communication
// with that neighbour may fail. Shared by the fuzzer and the seeded tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/transport/api/packet.h"
#include "core/transport/sim/random.h"

namespace torusmp::core::testing {

// The outcome of an attack. `broken` names what must never happen; empty: it did not.
struct Outcome {
    std::string broken;
    bool closed = false;      // the link to the attacker was closed as a protocol error
    std::size_t packets = 0;  // injected
    std::string log;
};

// The scene: a torus of four ranks in a ring, 0 is ours, 1 is the attacker, 3 a rank with which 0
// exchanges messages throughout, 2 lies behind both. The first byte sets the scene (which requests
// are open, and whether the job continues after deaths); then come packets, each a header of 40
// bytes, a length byte L and min(8 * L, what is left) bytes of payload.
Outcome attack(const std::uint8_t* data, std::size_t size);

// Input for attack(): packets that look right, with something wrong here and there.
std::vector<std::uint8_t> plausible_attack(transport::sim::Random& random);

// Input of one or more given packets.
struct Forged {
    transport::PacketHeader header;
    std::vector<std::byte> payload;
};
std::vector<std::uint8_t> attack_of(std::uint8_t scene, const std::vector<Forged>& packets);

}  // namespace torusmp::core::testing

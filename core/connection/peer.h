// SPDX-License-Identifier: BSD-3-Clause
// What a rank knows about another one: the way there, and the sequence numbers of both directions.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/connection/connection.h"

namespace torusmp::core {

struct Peer {
    // What every message looks at.
    Rank rank = -1;
    bool dead = false;
    std::uint8_t unlike = 0;  // dimensions, by bit, in which its coordinate differs from ours
    std::uint32_t send_sequence = 0;
    std::uint32_t receive_sequence = 0;  // the next one to be handled
    // By which sequenced packets leave: `via`, or the shortcut while there is one; null: ask
    // Connections::way().
    Connection* quick = nullptr;
    Connection* via = nullptr;       // null: not opened yet
    Connection* comes_by = nullptr;  // where its packets arrive; elsewhere they are forged
    Connection* onward = nullptr;    // the link by which packets of others are relayed to it

    Connection* shortcut = nullptr;  // null: there never was one
    // How many packets go by relay until a shortcut is wanted, or one that is being made is given
    // up; and what this begins with. 0: there can be none.
    std::uint32_t until_shortcut = 0;
    std::uint32_t shortcut_after = 0;
    // Links, by index, over which a large message to the peer may be spread (none: `via` alone),
    // and over which the peer's may arrive; the latter is computed when the first one comes.
    std::uint16_t ways_out = 0;
    std::uint16_t ways_in = 0;
    // The port of the peer by which packets arrive that leave by our link of that index, plus one;
    // 0: not computed yet.
    std::array<std::uint8_t, 2 * routing::max_dimensions> far_ports{};
    // The interface that lets others write the peer's large messages into our memory on their last
    // hop; null: none.
    transport::Interface* placing = nullptr;
    std::string why;  // it is dead
};

}  // namespace torusmp::core

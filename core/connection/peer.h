// SPDX-License-Identifier: BSD-3-Clause
// The knowledge of a rank about another one: the path to it, and the sequence numbers of both
// directions.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/connection/connection.h"
#include "routing/way_shares.h"

namespace torusmp::core {

struct Peer {
    // Fields that every message reads.
    Rank rank = -1;
    bool dead = false;  // it has died, or cannot be reached
    std::uint32_t send_sequence = 0;
    std::uint32_t receive_sequence = 0;  // the next one to handle
    // The connection for sequenced packets: `via`, or the shortcut while there is one. Null: call
    // Connections::way().
    Connection* quick = nullptr;
    // Messages of at least this size wait here until a receive asks for them; see UnexpectedStore.
    std::size_t holds_from = 0;
    Connection* via = nullptr;  // null until it is opened
    // Where its packets must arrive; packets from elsewhere are forged.
    Connection* comes_by = nullptr;

    Connection* shortcut = nullptr;  // null if there never was one
    // The number of packets that are still relayed before a shortcut is wanted, or before one that
    // is being made is given up; and its initial value. 0 if there can be no shortcut.
    std::uint32_t until_shortcut = 0;
    std::uint32_t shortcut_after = 0;
    // Bit masks, by link index, of the links over which a large message to the peer may be spread
    // (empty: `via` only), and over which the peer's may arrive; the latter is computed when the
    // first one arrives.
    std::uint16_t ways_out = 0;
    std::uint16_t ways_in = 0;
    // The peer's port, plus one, on which packets arrive that leave by our link of that index; 0
    // until it is computed.
    std::array<std::uint8_t, 2 * routing::max_dimensions> far_ports{};
    // The shares of large messages to the peer that leave by each of `ways_out` if those of many
    // ranks converge on it; all 0 until they are computed.
    routing::WayShares shares{};
    std::uint32_t receives = 0;  // of large messages from it that are open here
    // The interface that lets others write the peer's large messages into our memory on their last
    // hop; null if there is none.
    transport::Interface* placing = nullptr;
    std::size_t unexpected = 0;  // memory that its unexpected messages use here, in bytes
    bool holds = false;          // it has been asked to hold its messages
    std::string why;             // why it is dead
    // For a dead peer, at most one of these is true: the launcher has reported its death, or it has
    // had the time to do so and has not, so the peer lives. Both are false while that is open.
    bool reported = false;
    bool cut_off = false;
};

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
// How pieces of large messages use the credits of a link. A message that is spread over several
// links takes pieces from all of them from the first turn on; then the credits that return decide
// which links take the rest, so links that lead to congested cables take less of it. Therefore few
// pieces are under way on a link at the same time, as few as between two relays.
//
// Credits of small packets return rarely, because each return is a packet of its own. A piece
// returns them early: when its receiver takes it, fewer than `returned` credits remain owed. So
// after that the receiver owes at most one credit for each packet that follows the piece, and a
// sender that allows for those never waits for a credit that is not going to return.
#pragma once

#include "core/connection/connection.h"

namespace torusmp::core::pieces {

// Pieces that leave over a link in one turn.
inline constexpr int per_turn = 4;
// The owed credits of a link that return with a piece.
inline constexpr unsigned returned = 8;

// Only packets of one virtual channel arrive in the order in which they left.
inline bool is_first_hop(const transport::PacketHeader& header) {
    return PacketKind(header.kind) == PacketKind::data && header.virtual_channel == 0;
}

// Whether a piece may leave.
inline bool may_enter(const Connection& connection) {
    return connection.credits.may_enter() &&
           (!connection.link ||
            connection.credits.taken(0) <
                2 * returned + (connection.statistics.packets_sent - connection.last_piece));
}

// Whether a packet that has been taken returns all owed credits, its own included.
inline bool returns(const Connection& connection, const transport::PacketHeader& header) {
    return is_first_hop(header) && connection.link &&
           transport::credits_in(connection.credits.owed(), 0) >= returned;
}

}  // namespace torusmp::core::pieces

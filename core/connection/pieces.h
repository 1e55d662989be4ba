// SPDX-License-Identifier: BSD-3-Clause
// How pieces of large messages use the credits of a link. A message that is spread over several
// links takes pieces from all of them from the first turn on; then the credits that return decide
// which links take the rest, so links that lead to crowded cables take less of it. Therefore pieces
// leave the last credits to small messages, and the credits of relayed pieces return soon.
#pragma once

#include "core/connection/connection.h"

namespace torusmp::core::pieces {

// Pieces that leave over a link in one turn.
inline constexpr int per_turn = 4;
// The owed credits that return after a relayed piece.
inline constexpr unsigned returned = 8;

// Whether a piece may leave. The other end may owe half of the credits, for small packets, until
// more packets come.
inline bool may_enter(const Connection& connection) {
    const Credits& credits = connection.credits;
    return credits.may_enter() &&
           (!connection.link || credits.taken(0) < credits.limit(0) / 2 + 2 * returned);
}

// Whether owed credits must return now, after a relayed piece.
inline bool must_return(const Connection& connection, int virtual_channel) {
    return transport::credits_in(connection.credits.owed(), virtual_channel) >= returned;
}

}  // namespace torusmp::core::pieces

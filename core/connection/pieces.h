// SPDX-License-Identifier: BSD-3-Clause
// How pieces of large messages use the credits of a link. A message that is spread over several
// links takes pieces from all of them from the first turn on; then the credits that return decide
// which links take the rest, so links that lead to crowded cables take less of it. Therefore few
// pieces are under way on a link at the same time, as few as between two relays.
#pragma once

#include "core/connection/connection.h"

namespace torusmp::core::pieces {

// Pieces that leave over a link in one turn.
inline constexpr int per_turn = 4;
// The most owed credits of a link that do not return.
inline constexpr int returned = 8;

// Whether a piece may leave.
inline bool may_enter(const Connection& connection) {
    return connection.credits.may_enter() &&
           (!connection.link || connection.credits.taken(0) < 2 * returned);
}

}  // namespace torusmp::core::pieces

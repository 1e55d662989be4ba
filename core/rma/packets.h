// SPDX-License-Identifier: BSD-3-Clause
// The bodies of the two kinds of packets of windows: what an origin asks, and what the target
// answers.
#pragma once

#include <cstdint>

namespace torusmp::core::rma {

enum class Action : std::uint8_t {
    put,
    accumulate,
    get,
    get_accumulate,
    compare_and_swap,
    put_message,  // the bytes follow as a message, see Bulk; answered when they are in place
    get_message,  // the target sends the bytes as a message
    flush,        // answered when all that this origin asked before is done
    lock_shared,
    lock_exclusive,
    unlock_shared,  // answered like flush
    unlock_exclusive,
    post,      // the origin exposes its memory to the target
    complete,  // the origin's accesses to the target are done
    last_action = complete
};

// Actions that the target answers: with data, or with the fact that they are done.
constexpr bool is_answered(Action action) {
    return action != Action::put && action != Action::accumulate && action != Action::post &&
           action != Action::complete;
}
constexpr bool has_result(Action action) {
    return action == Action::get || action == Action::get_accumulate ||
           action == Action::compare_and_swap;
}
// Actions that access memory.
constexpr bool has_pieces(Action action) {
    return action <= Action::get_message;
}
constexpr bool is_message(Action action) {
    return action == Action::put_message || action == Action::get_message;
}

constexpr bool is_lock(Action action) {
    return action == Action::lock_shared || action == Action::lock_exclusive;
}

// Followed by the pieces of the target's memory, and by what is put there.
struct AskBody {
    std::uint32_t window;      // the target's id of the window
    std::uint32_t origin;      // the member that asks
    std::uint32_t operation;   // the origin's id of the operation; 0: no answer
    std::uint32_t number;      // packets of this kind from this rank to the target before it
    std::uint64_t position;    // of its bytes in the operation's data
    std::uint32_t bytes;       // in all pieces; 0 if they are a message
    std::uint16_t arithmetic;  // for accumulates, see Window::Find
    Action action;
    std::uint8_t pieces;
};
// A stretch of the target's memory: an offset in the window, or an address if it is dynamic.
struct PieceBody {
    std::uint64_t at;
    std::uint64_t bytes;
};
enum class Refusal : std::uint32_t {
    none,
    outside,  // an access since the last answer lay outside of the memory
    revoked   // it has no effect, because the window is revoked
};
// Followed by the data, unless it was refused.
struct AnswerBody {
    std::uint32_t operation;
    std::uint32_t bytes;
    std::uint64_t position;
    Refusal refused;
    std::uint32_t unused;
};
static_assert(sizeof(AskBody) == 32 && sizeof(PieceBody) == 16 && sizeof(AnswerBody) == 24);

// Pieces in one packet at most.
inline constexpr std::size_t most_pieces = 16;
// The most that one packet requests of a fetching atomic: the target may have to keep the result
// until a credit comes.
inline constexpr std::size_t most_fetched = 1024;  // bytes
// Packets that a rank has sent to a target and that are not answered yet.
inline constexpr std::uint32_t most_unanswered = 16;

}  // namespace torusmp::core::rma

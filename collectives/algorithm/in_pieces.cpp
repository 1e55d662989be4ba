// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithm/in_pieces.h"

namespace torusmp::collectives {
namespace {

// Members that share a core take turns for each few pieces, which shorter ones would not pay for.
constexpr std::size_t shortest_piece = 4096;

}  // namespace

std::size_t InPieces::piece_in(std::size_t room, int members, std::size_t columns) {
    if (room <= counters_bytes(members)) return 0;
    const std::size_t piece = (room - counters_bytes(members)) / places / columns / line * line;
    return piece >= shortest_piece ? piece : 0;
}

void InPieces::begin_pieces(Kind kind, std::size_t columns) {
    begin_call(kind);
    columns_ = columns;
    own_ = nullptr;
    put_ = 0;
    sources_.assign(std::size_t(size()), Source{});
}

bool InPieces::open() {
    piece_ = piece_in(largest(), size(), columns_);
    own_ = claim_for_all(room_bytes());
    if (own_ == nullptr) return false;
    for (int m = 0; m < size(); ++m) counter(own_, m).store(0, std::memory_order_relaxed);
    leave_for_all(agreed(block_of(member())));
    return true;
}

void InPieces::put_pieces() {
    for (const std::uint32_t all = pieces_of(member()); put_ < all && has_free_place(); ++put_) {
        put(place_of(own_, put_), part_of(member(), put_));
        counter(own_, member()).store(put_ + 1, std::memory_order_release);
        ring();
    }
}

bool InPieces::has_free_place() {
    if (put_ < places) return true;
    for (int m = 0; m < size(); ++m) {
        if (m == member() || counter(own_, m).load(std::memory_order_acquire) + places > put_)
            continue;
        await(m);
        return false;
    }
    return true;
}

bool InPieces::take_pieces(int from) {
    Source& source = sources_[std::size_t(from)];
    if (source.room == nullptr) {
        if (left_where(from, agreed(block_of(from))) != Left::contents) return false;
        source.room = contents_of(from, room_bytes());
    }
    const std::uint32_t all = pieces_of(from);
    while (source.taken < all) {
        if (counter(source.room, from).load(std::memory_order_acquire) == source.taken) {
            await(from);
            return false;
        }
        take_part(from, place_of(source.room, source.taken), part_of(from, source.taken));
        counter(source.room, member()).store(++source.taken, std::memory_order_release);
        ring(from);
    }
    return true;
}

bool InPieces::move() {
    if (!has_left() && !open()) return false;
    put_pieces();
    bool all = put_ == pieces_of(member());
    // Each member begins with the next one, so that they do not all read the same room first.
    for (int k = 1; k < size(); ++k)
        if (!take_pieces((member() + k) % size())) all = false;
    return all;
}

}  // namespace torusmp::collectives

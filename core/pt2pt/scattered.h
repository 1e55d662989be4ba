// SPDX-License-Identifier: BSD-3-Clause
// Large messages that are not contiguous at one end, while the memory of the other end can be
// reached: packed straight into it, or written and read in pieces, without an intermediate copy. If
// both ends are scattered, or the pieces are short, packets carry the message, because packing into
// them costs less than the pieces would.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "core/layout/layout.h"
#include "core/transport/api/channel.h"

namespace torusmp::core {

// For shorter pieces the kernel's cost exceeds the cost of a copy.
inline constexpr std::size_t worth_a_piece = 1024;
inline constexpr std::size_t most_together = 64;

// The next pieces of the message from byte `from` on, as many as fit into one call.
template <class Piece>
class Batch {
  public:
    Batch(const Buffer& buffer, std::size_t from, std::size_t bytes, std::size_t most) {
        std::array<Layout::Piece, most_together> found;
        const Layout::Pieces pieces = buffer.layout->pieces(
            from, bytes, std::span(found).first(std::min(most, most_together)));
        for (; count_ < pieces.count; ++count_)
            memory_[count_] =
                Piece(displaced(buffer.base, found[count_].offset), found[count_].bytes);
        bytes_ = pieces.bytes;
    }
    std::span<const Piece> pieces() const { return {memory_.data(), count_}; }
    std::size_t bytes() const { return bytes_; }

  private:
    std::array<Piece, most_together> memory_;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
};

inline bool goes_in_pieces(const transport::Channel& channel, const Layout& layout) {
    return channel.can().most_pieces > 1 && layout.mean_block() >= worth_a_piece;
}

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
// Frames: small blocks of many members that travel together. A frame is one message of pieces of
// blocks, each with the place that it belongs to. A frame describes itself: members that forward it
// do not need the lengths of the blocks.
//
// Frames come from other ranks, so a reader trusts nothing and reports a malformed piece. The
// caller owns the memory; one thread at a time. Internal to collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace torusmp::collectives {

// The header of each piece.
struct Piece {
    std::uint32_t place;  // owner of the block
    std::uint32_t bytes;  // payload after this header
    std::uint64_t about;  // offset in the block, in bytes, and the flags

    static constexpr std::uint64_t last = std::uint64_t(1) << 63;  // the block ends with this piece
    static constexpr std::uint64_t apart = std::uint64_t(1)
                                           << 62;  // the block comes as a separate message
    std::uint64_t offset() const { return about & ~(last | apart); }
    bool is_last() const { return (about & last) != 0; }
    bool is_apart() const { return (about & apart) != 0; }
};
static_assert(sizeof(Piece) == 16);

class FrameWriter {
  public:
    FrameWriter() = default;
    FrameWriter(std::byte* memory, std::size_t capacity) : memory_(memory), capacity_(capacity) {}

    void clear() { used_ = 0; }
    std::byte* memory() const { return memory_; }
    std::size_t used() const { return used_; }
    // The number of payload bytes that still fit; 0 also if only a header would fit.
    std::size_t room() const {
        return capacity_ > used_ + sizeof(Piece) ? capacity_ - used_ - sizeof(Piece) : 0;
    }
    // Precondition: piece.bytes <= room(), and room() is not 0.
    void add(const Piece& piece, const std::byte* bytes) {
        std::memcpy(memory_ + used_, &piece, sizeof piece);
        used_ += sizeof piece;
        if (piece.bytes != 0) std::memcpy(memory_ + used_, bytes, piece.bytes);
        used_ += piece.bytes;
    }

  private:
    std::byte* memory_ = nullptr;
    std::size_t capacity_ = 0;
    std::size_t used_ = 0;
};

class FrameReader {
  public:
    FrameReader() = default;
    FrameReader(const std::byte* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}

    bool at_end() const { return at_ == bytes_; }
    // Reads the next piece without consuming it; false if the next bytes are not a piece.
    bool peek(Piece& piece) const {
        if (bytes_ - at_ < sizeof piece) return false;
        std::memcpy(&piece, memory_ + at_, sizeof piece);
        return piece.bytes <= bytes_ - at_ - sizeof piece;
    }
    // The bytes of the piece that peek() returned.
    const std::byte* bytes() const { return memory_ + at_ + sizeof(Piece); }
    void skip(const Piece& piece) { at_ += sizeof piece + piece.bytes; }

  private:
    const std::byte* memory_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t at_ = 0;
};

}  // namespace torusmp::collectives

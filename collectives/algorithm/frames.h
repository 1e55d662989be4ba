// SPDX-License-Identifier: BSD-3-Clause
// Frames: how small blocks of many members travel together. A frame is one message of pieces of
// blocks, each with the place that it belongs to. It says all about itself: members that pass it on
// do not know how long blocks are.
//
// Frames come from other ranks, so a reader trusts nothing: a malformed piece is reported as such.
// The memory is the caller's; one thread at a time. Internal to collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace torusmp::collectives {

// In front of each piece.
struct Piece {
    std::uint32_t place;  // whose block
    std::uint32_t bytes;  // that follow
    std::uint64_t about;  // offset in the block, in bytes, and the flags

    static constexpr std::uint64_t last = std::uint64_t(1) << 63;  // no more of this block follows
    static constexpr std::uint64_t apart = std::uint64_t(1)
                                           << 62;  // it comes as a message by itself
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
    // How many bytes of a piece still fit; 0 also where nothing but its head would fit.
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
    // Shows the next piece without taking it; false: what follows is not a piece.
    bool peek(Piece& piece) const {
        if (bytes_ - at_ < sizeof piece) return false;
        std::memcpy(&piece, memory_ + at_, sizeof piece);
        return piece.bytes <= bytes_ - at_ - sizeof piece;
    }
    // The bytes of the piece that peek() showed.
    const std::byte* bytes() const { return memory_ + at_ + sizeof(Piece); }
    void skip(const Piece& piece) { at_ += sizeof piece + piece.bytes; }

  private:
    const std::byte* memory_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t at_ = 0;
};

}  // namespace torusmp::collectives

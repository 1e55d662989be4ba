// Frames: how small blocks of many members travel together, each frame one message that carries
// pieces of blocks, each with the place it belongs to. A frame says all about itself: those who
// pass it on do not know how long blocks are.
//
// Frames come from other ranks, so a reader believes nothing: what does not fit is told as such.
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
    std::uint64_t about;  // where they belong in the block, in bytes; and what the flags say

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
    // Bytes of a piece that still fit; nothing is left also where its front alone would fit.
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
    // The piece that comes next, without taking it; false: what is there is none.
    bool peek(Piece& piece) const {
        if (bytes_ - at_ < sizeof piece) return false;
        std::memcpy(&piece, memory_ + at_, sizeof piece);
        return piece.bytes <= bytes_ - at_ - sizeof piece;
    }
    // Of the piece that peek() showed.
    const std::byte* bytes() const { return memory_ + at_ + sizeof(Piece); }
    void skip(const Piece& piece) { at_ += sizeof piece + piece.bytes; }

  private:
    const std::byte* memory_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t at_ = 0;
};

}  // namespace torusmp::collectives

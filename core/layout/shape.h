// SPDX-License-Identifier: BSD-3-Clause
// The shape of a message in memory: a short program of nested strided copies.
//
// A Shape is built from blocks by two operations, repetition at a stride and sequence, and is kept
// as few nested loops around contiguous blocks: adjacent blocks are merged, regular repetition
// becomes a loop, and a shape that is used several times exists once. The message is the
// concatenation of the blocks in the order of the program. Shapes are immutable values, cheap to
// copy; parts are shared. Any thread may read.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace torusmp::core {

class Shape {
  public:
    struct Placed;

    Shape() = default;  // an empty shape
    static Shape block(std::size_t bytes, std::ptrdiff_t offset = 0);
    // The shapes in this order in the message, each at its offset in memory.
    static Shape sequence(std::span<const Placed> parts);
    // This shape `count` times, each `stride` bytes after the one before.
    Shape repeated(std::size_t count, std::ptrdiff_t stride) const;
    // This shape repeated without an end: the caller must know how many bytes there are.
    Shape endless(std::ptrdiff_t stride) const;
    Shape moved(std::ptrdiff_t by) const;

    bool empty() const { return nest_ == nullptr; }
    std::size_t size() const;    // bytes of the message
    std::size_t blocks() const;  // contiguous blocks that hold them
    bool is_block() const { return empty() || blocks() == 1; }
    // The offset of the program, and of a block's first byte.
    std::ptrdiff_t offset() const { return offset_; }

    // The program. A nest is a number of loops, outermost first, around a block or a sequence.
    struct Nest;
    struct Loop {
        std::size_t count;
        std::ptrdiff_t stride;
        std::size_t bytes;  // bytes of the message in one iteration
    };
    struct Part {
        std::ptrdiff_t offset;
        std::size_t start;  // bytes of the message before it
        const Nest* nest;   // null for a block, which ends at the next part's start
    };
    struct Sequence {
        std::vector<Part> parts;  // followed by one more, whose start is the end
        std::vector<std::shared_ptr<const Nest>> nests;  // the nests that parts refer to
        bool only_blocks() const { return nests.empty(); }
    };
    static constexpr int deepest = 5;
    struct Nest {
        std::array<Loop, deepest> loops{};
        int depth = 0;
        std::size_t body = 0;    // bytes of the message in the block, or in the whole sequence
        std::size_t blocks = 1;  // of the whole nest
        std::shared_ptr<const Sequence> sequence;  // null for a block
        std::size_t size() const { return depth == 0 ? body : loops[0].count * loops[0].bytes; }
        bool is_block() const { return depth == 0 && sequence == nullptr; }
    };
    const Nest* nest() const { return nest_.get(); }  // null for an empty shape

  private:
    Shape(std::ptrdiff_t offset, std::shared_ptr<const Nest> nest)
        : offset_(offset), nest_(std::move(nest)) {}
    static Shape nest(const std::shared_ptr<const Nest>& inner, const Loop& loop);

    std::ptrdiff_t offset_ = 0;
    std::shared_ptr<const Nest> nest_;
};

struct Shape::Placed {
    std::ptrdiff_t offset;
    Shape shape;
};

}  // namespace torusmp::core

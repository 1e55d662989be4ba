// SPDX-License-Identifier: BSD-3-Clause
// The location of a message's bytes: one block, or a short program of nested strided copies.
//
// A Layout is an immutable value that any number of requests may share; its creator keeps it alive
// until they are complete. It describes one element and the distance to the next one, so messages
// of any number of elements use the same Layout. Copies may start at any byte of the message: the
// position is computed, not searched for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/copy.h"
#include "core/layout/shape.h"

namespace torusmp::core {

class Layout {
  public:
    // `count` blocks of `bytes` bytes each, the first at `offset`, each `stride` bytes after the
    // one before.
    struct Run {
        std::ptrdiff_t offset;
        std::size_t bytes;
        std::size_t count;
        std::ptrdiff_t stride;
    };
    // A contiguous stretch, at an offset from the base.
    struct Piece {
        std::ptrdiff_t offset;
        std::size_t bytes;
    };

    explicit Layout(const std::vector<Run>& runs);
    // `extent` is the distance in bytes from one element to the next; it does not matter for
    // messages of one element.
    explicit Layout(Shape element, std::ptrdiff_t extent = 0);

    std::size_t size() const { return size_; }  // bytes of the message in one element
    // True if the element is one block: [base + front(), base + front() + size()).
    bool contiguous() const { return contiguous_; }
    // True if any number of elements form one block.
    bool dense() const { return dense_; }
    std::ptrdiff_t front() const { return element_.offset(); }
    std::ptrdiff_t extent() const { return extent_; }
    // Mean size of the contiguous blocks, in bytes.
    std::size_t mean_block() const { return mean_block_; }
    const Shape& element() const { return element_; }

    // Copies bytes [from, from + bytes) of the message from, or to, memory at base.
    void pack(const std::byte* base, std::size_t from, std::byte* out, std::size_t bytes) const;
    void unpack(std::byte* base, std::size_t from, const std::byte* in, std::size_t bytes) const;

    // Fills `out` with the stretches that hold bytes [from, from + bytes) of the message, in order,
    // as many as fit. Adjacent stretches are merged.
    struct Pieces {
        std::size_t count;
        std::size_t bytes;  // bytes in the pieces; fewer than requested if `out` is full
    };
    Pieces pieces(std::size_t from, std::size_t bytes, std::span<Piece> out) const;

  private:
    Shape element_;
    Shape elements_;  // repeated without an end
    std::ptrdiff_t extent_;
    std::size_t size_;
    std::size_t mean_block_;
    bool contiguous_;
    bool dense_;
};

// Addresses are integers here: a base may be null, and the offsets whole addresses.
inline std::byte* displaced(const void* base, std::ptrdiff_t by) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) +
                                        std::uintptr_t(by));
}

// The memory of one message. If `layout` is null, it is `bytes` bytes at `base`.
struct Buffer {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    const Layout* layout = nullptr;

    Buffer() = default;
    Buffer(void* memory, std::size_t size) : base(static_cast<std::byte*>(memory)), bytes(size) {}
    Buffer(const void* memory, std::size_t size)
        : Buffer(const_cast<void*>(memory), size) {}  // sends only read
    Buffer(void* memory, const Layout& shape, std::size_t elements = 1)
        : base(static_cast<std::byte*>(memory)), bytes(elements * shape.size()) {
        if (shape.dense() || (shape.contiguous() && elements <= 1))
            base = displaced(memory, shape.front());
        else
            layout = &shape;
    }

    void pack(std::size_t from, std::byte* out, std::size_t count) const {
        if (count == 0) return;
        if (layout == nullptr)
            std::memcpy(out, base + from, count);
        else
            layout->pack(base, from, out, count);
    }
    void unpack(std::size_t from, const std::byte* in, std::size_t count) const {
        if (layout == nullptr)
            base::copy(base + from, in, count);
        else if (count != 0)
            layout->unpack(base, from, in, count);
    }
};

}  // namespace torusmp::core

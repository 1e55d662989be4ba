// Where the bytes of a message lie: one block, or a short program of strided blocks.
//
// A Layout is an immutable value shared by any number of requests; whoever made it keeps it alive
// until they are complete. The message is the concatenation of the blocks in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace torusmp::core {

class Layout {
  public:
    // `count` blocks of `bytes` bytes each, the first at `offset`, the next `stride` bytes further.
    struct Run {
        std::ptrdiff_t offset;
        std::size_t bytes;
        std::size_t count;
        std::ptrdiff_t stride;
    };

    explicit Layout(std::vector<Run> runs);

    std::size_t size() const { return size_; }  // bytes of the message
    // One block: the message is [base + front(), base + front() + size()).
    bool contiguous() const { return contiguous_; }
    std::ptrdiff_t front() const { return runs_.empty() ? 0 : runs_.front().offset; }

    // Copies bytes [from, from + bytes) of the message out of, or into, memory at base.
    void pack(const std::byte* base, std::size_t from, std::byte* out, std::size_t bytes) const;
    void unpack(std::byte* base, std::size_t from, const std::byte* in, std::size_t bytes) const;

  private:
    template <class Copy>
    void walk(std::size_t from, std::size_t bytes, Copy&& copy) const;

    std::vector<Run> runs_;
    std::vector<std::size_t> starts_;  // message offset at which each run begins
    std::size_t size_ = 0;
    bool contiguous_ = true;
};

// The memory of one message. `layout` null: `bytes` bytes from `base`.
struct Buffer {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    const Layout* layout = nullptr;

    Buffer() = default;
    Buffer(void* memory, std::size_t size) : base(static_cast<std::byte*>(memory)), bytes(size) {}
    Buffer(const void* memory, std::size_t size)
        : Buffer(const_cast<void*>(memory), size) {}  // sends only read
    Buffer(void* memory, const Layout& shape)
        : base(static_cast<std::byte*>(memory)), bytes(shape.size()) {
        if (shape.contiguous())
            base += shape.front();
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
        if (count == 0) return;
        if (layout == nullptr)
            std::memcpy(base + from, in, count);
        else
            layout->unpack(base, from, in, count);
    }
};

}  // namespace torusmp::core

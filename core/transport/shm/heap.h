// The heap of a segment: memory that all peers have mapped.
//
// First fit over offsets, neighbours merged on free. Bookkeeping is private to the owner; one
// thread at a time. Made for few and large buffers, not for small objects.
//
// What the program has allocated is in a core dump of this process, as other memory of its own; the
// rest of the heap is not. The line between is drawn behind the last buffer, roughly, so that it
// moves seldom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "core/transport/shm/segment.h"

namespace torusmp::transport::shm {

class Heap {
  public:
    explicit Heap(const Segment& segment);

    // Null when no stretch is large enough.
    void* allocate(std::size_t bytes, std::size_t alignment);
    void free(void* memory);
    bool contains(const void* memory, std::size_t bytes) const;

  private:
    void show_in_dumps(std::uint64_t bytes);

    const Segment& segment_;
    Bytes memory_;
    std::uint64_t shown_ = 0;                      // from the beginning, in core dumps
    std::map<std::uint64_t, std::uint64_t> free_;  // offset -> bytes
    std::map<std::uint64_t, std::uint64_t> used_;
};

}  // namespace torusmp::transport::shm

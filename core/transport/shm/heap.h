// SPDX-License-Identifier: BSD-3-Clause
// The heap of a segment: memory that all peers have mapped.
//
// First fit over offsets; neighbours are merged on free. The bookkeeping is private to the owner;
// one thread at a time may call. Made for a few large buffers, not for small objects.
//
// A core dump of this process contains what the program has allocated here, but not the rest of the
// heap. The boundary is set roughly behind the last buffer, so that it rarely moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "core/transport/shm/segment.h"

namespace torusmp::transport::shm {

class Heap {
  public:
    explicit Heap(const Segment& segment);

    // Null if no stretch is large enough.
    void* allocate(std::size_t bytes, std::size_t alignment);
    void free(void* memory);
    bool contains(const void* memory, std::size_t bytes) const;

  private:
    void show_in_dumps(std::uint64_t bytes);

    const Segment& segment_;
    Bytes memory_;
    std::uint64_t shown_ = 0;  // bytes from the beginning that core dumps contain
    std::map<std::uint64_t, std::uint64_t> free_;  // offset -> bytes
    std::map<std::uint64_t, std::uint64_t> used_;
};

}  // namespace torusmp::transport::shm

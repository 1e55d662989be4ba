// SPDX-License-Identifier: BSD-3-Clause
// A part of a segment's heap, which all peers have mapped. One part serves QMP_allocate_memory, the
// other one malloc(), as the provider of the program's large blocks.
//
// The smallest hole that is large enough is used; neighbours are merged on free. The bookkeeping is
// private to the owner; any thread may call. Made for large buffers, not for small objects.
//
// Freed memory keeps its pages, up to most_kept in all, so that a program that frees and allocates
// in turn takes no page faults.
//
// A core dump of this process contains what the program has allocated here, but not the rest of the
// heap. The boundary is set roughly behind the last buffer, so that it rarely moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/large_blocks.h"
#include "core/transport/shm/segment.h"

namespace torusmp::transport::shm {

class Heap final : public base::BlockProvider {
  public:
    // As much as the C library keeps at most.
    static constexpr std::uint64_t most_kept = std::uint64_t{64} << 20;

    Heap(const Segment& segment, Bytes part);

    // Null if no stretch is large enough.
    void* allocate(std::size_t bytes, std::size_t alignment) override;
    void* allocate_cleared(std::size_t bytes) override;
    // Ignores null, and what is not a block. Does not change errno.
    void free(void* block) override;
    bool resize(void* block, std::size_t bytes) override;
    std::size_t size(const void* block) const override;
    bool contains(const void* memory, std::size_t bytes) const;
    Bytes memory() const { return memory_; }

    void before_fork() override { lock_.lock(); }
    void after_fork(bool child) override;

  private:
    // A stretch that is free.
    struct Hole {
        std::uint64_t bytes;
        std::uint64_t kept;  // of these bytes, roughly: those whose pages are kept
    };
    using Holes = std::map<std::uint64_t, Hole>;  // by offset

    std::uint64_t offset_of(const void* block) const;
    void add_hole(std::uint64_t begin, Hole hole);
    Hole take_hole(Holes::iterator hole);
    void release(std::uint64_t begin, std::uint64_t bytes);
    bool discard(std::uint64_t begin, std::uint64_t bytes) const;
    void show_in_dumps(std::uint64_t bytes);

    const Segment& segment_;
    const Bytes memory_;
    mutable std::mutex lock_;
    bool forked_ = false;      // this is the child of a fork: the file is its parent's
    std::uint64_t shown_ = 0;  // bytes from the beginning that core dumps contain
    std::uint64_t kept_ = 0;   // the sum of the holes'
    Holes holes_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> holes_by_bytes_;  // (bytes, offset)
    std::map<std::uint64_t, std::uint64_t> used_;                       // offset -> bytes
};

}  // namespace torusmp::transport::shm

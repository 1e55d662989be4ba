// SPDX-License-Identifier: BSD-3-Clause
// The provider of the program's large blocks of memory, such as a transport whose peers have mapped
// them. malloc() and its relatives (library/malloc.cpp) ask it before the C library.
//
// There is at most one provider in the life of a process, and it is never destroyed: the program
// may free its blocks at any time. Any thread may call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace torusmp::base {

class BlockProvider {
  public:
    // Null if there is no room: the C library gives the block.
    virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
    // The same, filled with zeros.
    virtual void* allocate_cleared(std::size_t bytes) = 0;
    virtual void free(void* block) = 0;
    // Makes a block longer or shorter where it lies; false: it stays as it is.
    virtual bool resize(void* block, std::size_t bytes) = 0;
    // The bytes that the program may use, at least those that it has requested.
    virtual std::size_t size(const void* block) const = 0;
    // Around a fork: no call is under way meanwhile. In the child, stores to blocks are private
    // from then on, as with the C library's.
    virtual void before_fork() = 0;
    virtual void after_fork(bool child) = 0;

  protected:
    ~BlockProvider() = default;
};

class LargeBlocks {
  public:
    // The provider gives blocks of at least `least` and less than `end` bytes, all of them within
    // `memory_bytes` from `memory`. False, without effect, if there was a provider before.
    bool begin(BlockProvider& provider, std::size_t least, std::size_t end, const void* memory,
               std::size_t memory_bytes);
    // No more blocks are given. The provider still frees those that it has given.
    void stop() { range_.store(0, std::memory_order_relaxed); }

    // The provider if it gives blocks of this size, else null.
    BlockProvider* provider_for(std::size_t bytes) const {
        const bool given =
            bytes - least_.load(std::memory_order_relaxed) < range_.load(std::memory_order_acquire);
        return given ? provider_.load(std::memory_order_relaxed) : nullptr;
    }
    // The provider if it has given this block, else null.
    BlockProvider* provider_of(const void* block) const {
        const bool given =
            reinterpret_cast<std::uintptr_t>(block) - memory_.load(std::memory_order_relaxed) <
            memory_bytes_.load(std::memory_order_acquire);
        return given ? provider_.load(std::memory_order_relaxed) : nullptr;
    }
    BlockProvider* provider() const { return provider_.load(std::memory_order_acquire); }

  private:
    std::atomic<std::size_t> least_{0};
    std::atomic<std::size_t> range_{0};
    std::atomic<std::uintptr_t> memory_{0};
    std::atomic<std::size_t> memory_bytes_{0};
    std::atomic<BlockProvider*> provider_{nullptr};
};

// Constant from the start: the C library's functions are called before any constructor.
extern constinit LargeBlocks large_blocks;

}  // namespace torusmp::base

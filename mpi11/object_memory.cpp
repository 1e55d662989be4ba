// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/object_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace torusmp::mpi {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t step = 256 << 10;  // made writable in steps of this size
constexpr std::size_t least = 1 << 20;

struct Range {
    std::byte* begin = nullptr;
    std::size_t size = 0;
    std::size_t writable = 0;
    std::size_t used = 0;
};

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

// If the program has little address space (ulimit -v), it keeps most of it.
std::size_t wanted(std::size_t most) {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return most;
    return std::clamp(std::bit_floor(std::size_t(limit.rlim_cur / 16)), least, most);
}

// A part of the window, or all of it: aligned to its own size, which is a power of two.
Range reserve(std::size_t most) {
    for (std::size_t size = wanted(most); size >= least; size /= 2) {
        void* const found =
            mmap(nullptr, 2 * size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (found == MAP_FAILED) continue;
        auto* const first = static_cast<std::byte*>(found);
        const std::size_t before = -reinterpret_cast<std::uintptr_t>(first) & (size - 1);
        if (before > 0) munmap(first, before);
        munmap(first + before + size, size - before);
        return {first + before, size};
    }
    throw std::bad_alloc();
}

}  // namespace

std::byte* ObjectMemory::take(std::size_t bytes) {
    static constinit std::mutex mutex;
    static constinit Range range;
    const std::lock_guard lock(mutex);
    if (range.begin == nullptr) {
        range = reserve(std::size_t{1} << window_bits);
        window_.store(reinterpret_cast<std::uintptr_t>(range.begin) >> window_bits,
                      std::memory_order_relaxed);
    }
    const std::size_t end = range.used + rounded_up(bytes, line);
    if (end > range.size) throw std::bad_alloc();
    if (end > range.writable) {
        const std::size_t more = std::min(rounded_up(end, step), range.size) - range.writable;
        std::byte* const from = range.begin + range.writable;
        if (mprotect(from, more, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
#ifdef __SANITIZE_ADDRESS__
        // Memory that only objects point to is not a leak.
        __lsan_register_root_region(from, more);
#endif
        range.writable += more;
    }
    return range.begin + std::exchange(range.used, end);
}

}  // namespace torusmp::mpi

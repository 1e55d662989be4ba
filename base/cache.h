// SPDX-License-Identifier: BSD-3-Clause
// Hints to the caches about lines that one core writes and another reads next. They change nothing
// but time.
#pragma once

#include <cstddef>

namespace torusmp::base {

inline constexpr std::size_t cache_line = 64;

// Moves lines that this core has just written to the cache that all cores share, from where another
// core reads them sooner than from this core's private cache. Processors without the instruction
// take it for one that does nothing.
inline void demote([[maybe_unused]] const std::byte* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef __x86_64__
    for (std::size_t i = 0; i < bytes; i += cache_line)
        asm volatile("cldemote %0" : : "m"(begin[i]));
#endif
}

// The most bytes that are worth fetching before they are written; longer fetches delay the stores
// that follow. Depends on the processor.
std::size_t most_fetched();

// Fetches lines that this core will write. Without a flag that excludes old processors, the
// compiler would fetch them as if to read, which leaves them in the other core's cache.
inline void fetch_to_write(const std::byte* begin, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += cache_line)
#ifdef __x86_64__
        asm volatile("prefetchw %0" : : "m"(begin[i]));
#else
        __builtin_prefetch(begin + i, 1);
#endif
}

}  // namespace torusmp::base

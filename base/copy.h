// SPDX-License-Identifier: BSD-3-Clause
// Copies of a few bytes, for which a function call would be most of the cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace torusmp::base {

// Like std::memcpy(), which it calls unless there are 8 to 16 bytes (one or two numbers).
inline void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    using Word = std::uint64_t;
    if (bytes < sizeof(Word) || bytes > 2 * sizeof(Word)) {
        if (bytes != 0) std::memcpy(to, from, bytes);
        return;
    }
    const std::size_t last = bytes - sizeof(Word);
    Word begin = 0, end = 0;  // the two words overlap
    std::memcpy(&begin, from, sizeof begin);
    std::memcpy(&end, from + last, sizeof end);
    std::memcpy(to, &begin, sizeof begin);
    std::memcpy(to + last, &end, sizeof end);
}

}  // namespace torusmp::base

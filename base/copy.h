// SPDX-License-Identifier: BSD-3-Clause
// Copies of few bytes, which are so short that the call of a function is most of their cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace torusmp::base {

// As std::memcpy(), which it calls unless there are 8 to 16 bytes: a number or two.
inline void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    using Word = std::uint64_t;
    if (bytes < sizeof(Word) || bytes > 2 * sizeof(Word)) {
        if (bytes != 0) std::memcpy(to, from, bytes);
        return;
    }
    const std::size_t last = bytes - sizeof(Word);
    Word begin = 0, end = 0;  // they overlap
    std::memcpy(&begin, from, sizeof begin);
    std::memcpy(&end, from + last, sizeof end);
    std::memcpy(to, &begin, sizeof begin);
    std::memcpy(to + last, &end, sizeof end);
}

}  // namespace torusmp::base

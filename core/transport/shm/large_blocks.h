// SPDX-License-Identifier: BSD-3-Clause
// Which blocks of the program's malloc() lie in the heap of the segment, where messages to ranks of
// the host take one copy.
#pragma once

#include <cstddef>
#include <filesystem>

namespace torusmp::transport::shm {

enum class Malloc {
    automatic,  // shared, as far as the program loses nothing by it
    shared,
    separate,  // from the C library, as without torusmp
};

// Smaller blocks are many, and hold few messages that are worth it.
inline constexpr std::size_t least_large_block = std::size_t{32} << 10;

// Blocks of at least least_large_block and less than this many bytes are shared. `root`: of the
// files of the kernel.
//
// With `automatic`, blocks that the kernel makes of huge pages are not, if it would not do so for
// shared memory: the program would compute more slowly. And none is where the kernel promises to
// refuse memory that it does not have: for shared memory it cannot.
std::size_t end_of_large_blocks(Malloc wish, const std::filesystem::path& root = "/");

}  // namespace torusmp::transport::shm

// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/alltoall/alltoall.h"

namespace torusmp::collectives {

void Alltoall::start(void* in, const Blocks& in_blocks, const void* out, const Blocks& out_blocks,
                     const AlgorithmRow* algorithm) {
    arguments_ = {static_cast<std::byte*>(in), in_blocks, static_cast<const std::byte*>(out),
                  out_blocks};
    const bool even = in_blocks.is_even() && out_blocks.is_even();
    // For uneven blocks no member knows all sizes, so the row for the smallest size is chosen.
    const std::size_t block = even ? out_blocks.size(0) : 0;
    run("alltoall", {-1, even ? block : Call::any_bytes},
        {.group = group(),
         .bytes = block,
         .even = even,
         .share = block * std::size_t(group().size() - 1)},
        algorithm);
}

void Alltoall::refuse(const Blocks& in_blocks, const Blocks& out_blocks) {
    const auto lock = group().runtime().lock();
    const bool even = in_blocks.is_even() && out_blocks.is_even();
    const int member = group().member();
    begin_refused("alltoall", {-1, even ? out_blocks.size(0) : Call::any_bytes},
                  out_blocks.size(member), in_blocks.size(member));
}

}  // namespace torusmp::collectives

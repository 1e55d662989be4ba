// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/allgather/allgather.h"

#include <cstring>

namespace torusmp::collectives {

void Allgather::start(void* in, const Blocks& in_blocks, const void* out,
                      const AlgorithmRow* algorithm) {
    arguments_ = {static_cast<std::byte*>(in), in_blocks};
    const int member = group().member();
    if (out != nullptr && in_blocks.size(member) > 0)
        std::memmove(arguments_.in + in_blocks.offset(member), out, in_blocks.size(member));
    const std::size_t bytes = in_blocks.total(group().size());
    run("allgather", {-1, bytes},
        {.group = group(), .bytes = bytes, .share = in_blocks.longest(group().size())}, algorithm);
}

}  // namespace torusmp::collectives

// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/gather/gather.h"

#include <cstring>

namespace torusmp::collectives {

bool gather::Arguments::keep_own_block() const {
    if (out == nullptr) return true;
    if (out_bytes != in_blocks.size(root)) return false;
    if (out_bytes != 0) std::memcpy(in + in_blocks.offset(root), out, out_bytes);
    return true;
}

void Gather::start(void* in, const Blocks& in_blocks, const void* out, std::size_t out_bytes,
                   int root, const AlgorithmRow* algorithm) {
    arguments_ = {static_cast<std::byte*>(in), in_blocks, static_cast<const std::byte*>(out),
                  out_bytes, root};
    run("gather", {root}, {.group = group()}, algorithm);
}

}  // namespace torusmp::collectives

// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/scatter/scatter.h"

#include <cstring>

namespace torusmp::collectives {

bool scatter::Arguments::keep_own_block() const {
    if (in == nullptr) return true;
    const std::size_t bytes = out_blocks.size(root);
    if (bytes > in_bytes) return false;
    if (bytes != 0) std::memcpy(in, out + out_blocks.offset(root), bytes);
    return true;
}

void Scatter::start(void* in, std::size_t in_bytes, const void* out, const Blocks& out_blocks,
                    int root, const AlgorithmRow* algorithm) {
    arguments_ = {static_cast<std::byte*>(in), in_bytes, static_cast<const std::byte*>(out),
                  out_blocks, root};
    run("scatter", {root}, {.group = group()}, algorithm);
}

void Scatter::refuse(std::size_t sent, std::size_t room) {
    const auto lock = group().runtime().lock();
    begin_refused("scatter", {group().member()}, sent, room);
}

}  // namespace torusmp::collectives

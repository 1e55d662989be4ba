// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/allgather/allgather.h"

#include <cstring>

namespace torusmp::collectives {

void Allgather::start(void* in, const Blocks& in_blocks, const void* out,
                      const AlgorithmRow* algorithm) {
    const std::size_t bytes = prepare(in, in_blocks, out);
    begin_as("allgather", {-1, bytes}, bytes, algorithm);
}

void Allgather::start_for(const char* call, void* in, const Blocks& in_blocks, const void* out) {
    begin_as(call, {}, prepare(in, in_blocks, out), nullptr);
}

void Allgather::refuse(const Blocks& in_blocks, std::size_t sent) {
    const auto lock = group().runtime().lock();
    begin_refused("allgather", {-1, in_blocks.total(group().size())}, sent,
                  in_blocks.size(group().member()));
}

std::size_t Allgather::prepare(void* in, const Blocks& in_blocks, const void* out) {
    arguments_ = {static_cast<std::byte*>(in), in_blocks};
    const int member = group().member();
    if (out != nullptr && in_blocks.size(member) > 0)
        std::memmove(arguments_.in + in_blocks.offset(member), out, in_blocks.size(member));
    return in_blocks.total(group().size());
}

void Allgather::begin_as(std::string_view name, const Call& call, std::size_t bytes,
                         const AlgorithmRow* algorithm) {
    run(name, call,
        {.group = group(), .bytes = bytes, .share = arguments_.in_blocks.longest(group().size())},
        algorithm);
}

}  // namespace torusmp::collectives

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
    const int member = group().member();
    std::byte* const place = static_cast<std::byte*>(in) + in_blocks.offset(member);
    const auto* const own = static_cast<const std::byte*>(out);
    arguments_ = {static_cast<std::byte*>(in), in_blocks, own != nullptr ? own : place};
    if (own != nullptr && in_blocks.size(member) > 0)
        std::memmove(place, own, in_blocks.size(member));
    return in_blocks.total(group().size());
}

void Allgather::begin_as(std::string_view name, const Call& call, std::size_t bytes,
                         const AlgorithmRow* algorithm) {
    run(name, call,
        {.group = group(), .bytes = bytes, .share = arguments_.in_blocks.longest(group().size())},
        algorithm);
}

}  // namespace torusmp::collectives

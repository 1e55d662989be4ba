// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/broadcast/broadcast.h"

#include "collectives/broadcast/by_hosts.h"

namespace torusmp::collectives {

Broadcast::Broadcast(Group& group) : Collective(group, broadcast::algorithms()) {}
Broadcast::~Broadcast() = default;

void Broadcast::start(void* buffer, std::size_t bytes, int root, const AlgorithmRow* algorithm) {
    arguments_ = {static_cast<std::byte*>(buffer), bytes, root};
    begin_as("broadcast", {root, bytes}, algorithm);
}

void Broadcast::start_for(const char* call, void* buffer, std::size_t bytes, int root) {
    arguments_ = {static_cast<std::byte*>(buffer), bytes, root};
    begin_as(call, {}, nullptr);
}

void Broadcast::begin_as(std::string_view name, const Call& call, const AlgorithmRow* algorithm) {
    const std::size_t bytes = arguments_.bytes;
    if (Hosts* hosts = group().hosts()) return run_over(*hosts, by_hosts_, name, call, algorithm);
    run(name, call, {.group = group(), .bytes = bytes, .share = bytes}, algorithm);
}

}  // namespace torusmp::collectives

// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/broadcast/broadcast.h"

#include "collectives/broadcast/by_hosts.h"

namespace torusmp::collectives {

Broadcast::Broadcast(Group& group) : Collective(group, broadcast::algorithms()) {}
Broadcast::~Broadcast() = default;

void Broadcast::start(void* buffer, std::size_t bytes, int root, const AlgorithmRow* algorithm) {
    const Call call{root, bytes};
    arguments_ = {static_cast<std::byte*>(buffer), bytes, root};
    if (Hosts* hosts = group().hosts())
        return run_over(*hosts, by_hosts_, "broadcast", call, algorithm);
    run("broadcast", call, {.group = group(), .bytes = bytes, .share = bytes}, algorithm);
}

}  // namespace torusmp::collectives

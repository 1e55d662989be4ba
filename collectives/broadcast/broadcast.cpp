#include "collectives/broadcast/broadcast.h"

#include "collectives/broadcast/by_hosts.h"

namespace torusmp::collectives {

Broadcast::Broadcast(Group& group) : Collective(group, broadcast::algorithms()) {}
Broadcast::~Broadcast() = default;

void Broadcast::start(void* buffer, std::size_t bytes, int root, const AlgorithmRow* algorithm) {
    const Call call{root, bytes};
    if (Hosts* hosts = group().hosts()) {
        if (by_hosts_ == nullptr) {
            by_hosts_ = std::make_unique<broadcast::ByHosts>(group(), *hosts);
            nest(*by_hosts_, 0);
        }
        by_hosts_->prepare(buffer, bytes, root, algorithm);
        return run_part("broadcast", call, *by_hosts_);
    }
    arguments_ = {static_cast<std::byte*>(buffer), bytes, group().place_of(root)};
    run("broadcast", call, {.group = group(), .bytes = bytes}, algorithm);
}

}  // namespace torusmp::collectives

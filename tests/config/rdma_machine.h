// SPDX-License-Identifier: BSD-3-Clause
// The fictitious ring of hosts with RDMA devices, as verbs reports them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/transport/verbs/rdma.h"
#include "tests/config/machine.h"

namespace torusmp::test {

inline transport::verbs::RdmaGid make_gid(int index, const base::Address& address,
                                          bool roce_v2 = true) {
    transport::verbs::RdmaGid gid;
    gid.index = index;
    gid.roce_v2 = roce_v2;
    gid.bytes = address.bytes;
    if (!address.v6) {
        gid.bytes = {};
        gid.bytes[10] = gid.bytes[11] = 0xff;
        std::copy_n(address.bytes.begin(), 4, gid.bytes.begin() + 12);
    }
    return gid;
}

// The RDMA device of a network device, with GIDs as the kernel makes them: link-local first.
inline transport::verbs::RdmaPort good_port(const config::Device& device) {
    transport::verbs::RdmaPort port;
    port.device = "rxe_" + device.name;
    port.netdev = device.name;
    port.active = true;
    port.state = "ACTIVE";
    port.mtu = port.max_mtu = 4096;
    port.link_layer = "Ethernet";
    for (auto at = device.addresses.rbegin(); at != device.addresses.rend(); ++at)
        port.gids.push_back(make_gid(int(port.gids.size()), *at));
    return port;
}

struct RdmaMachine : Machine {
    using Ports = std::vector<transport::verbs::RdmaPort>;

    explicit RdmaMachine(const std::string& more = "", bool with_rdma = false)
        : Machine(more), ports_(hosts.size()) {
        for (std::size_t i = 0; with_rdma && i < hosts.size(); ++i)
            ports_[i] = {good_port(hosts[i].devices[1]), good_port(hosts[i].devices[2])};
    }

    Ports& rdma(int node) { return ports_[static_cast<std::size_t>(node)]; }
    transport::verbs::RdmaPort& port(int node, const std::string& netdev) {
        const auto found = std::find_if(rdma(node).begin(), rdma(node).end(),
                                        [&](const auto& it) { return it.netdev == netdev; });
        REQUIRE(found != rdma(node).end());
        return *found;
    }
    std::vector<config::HostFacts> reported_facts() const override {
        auto all = hosts;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (!ports_[i].empty())
                all[i].offers["verbs"] = transport::verbs::format_ports(ports_[i]);
        return all;
    }
    config::HostFacts facts_of(int node) const {
        return reported_facts()[static_cast<std::size_t>(node)];
    }

  private:
    std::vector<Ports> ports_;  // by node
};

}  // namespace torusmp::test

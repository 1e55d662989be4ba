// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/meeting.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/descriptor.h"
#include "programs/torus_run/streams/cable_probe.h"

namespace torusmp::torus_run {

namespace {

constexpr int most_ports = 100;  // that are tried

bool is_free(int port) {
    const base::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(std::uint16_t(port));
    return socket &&
           ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Below the ports that kernels give to connections, so that it stays free until rank 0 listens.
int choose_port(bool here) {
    int port = probe_port(random_nonce());
    for (int i = 0; here && i < most_ports && !is_free(port); ++i)
        port = probe_port(random_nonce());
    return port;
}

}  // namespace

std::vector<std::string> meeting_point(const std::vector<HostPlan>& hosts,
                                       const std::string& self) {
    const auto zero = std::find_if(hosts.begin(), hosts.end(), [](const HostPlan& host) {
        return !host.ranks.empty() && host.ranks.front() == 0;
    });
    const bool alone = hosts.size() == 1 && zero->here;
    const std::string& name = zero->here ? self : zero->name;
    std::vector<std::string> variables{
        fmt::format("MASTER_ADDR={}", alone ? std::string("127.0.0.1") : name),
        fmt::format("MASTER_PORT={}", choose_port(zero->here))};
    if (alone) {
        variables.emplace_back("GLOO_SOCKET_IFNAME=lo");
        variables.emplace_back("NCCL_SOCKET_IFNAME=lo");
    }
    return variables;
}

bool is_of_a_meeting(std::string_view name) {
    for (const char* ours : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
                             "MASTER_PORT", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"})
        if (name == ours) return true;
    return false;
}

}  // namespace torusmp::torus_run

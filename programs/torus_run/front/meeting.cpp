// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/meeting.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/descriptor.h"
#include "base/socket_address.h"
#include "config/netplan.h"
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

// The address of this host that has the label of the plan; empty if the plan is not applied here.
std::string planned_address() {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return {};
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> guard(first, &::freeifaddrs);
    for (const ifaddrs* entry = first; entry; entry = entry->ifa_next)
        if (entry->ifa_addr && entry->ifa_name == config::node_label)
            if (const auto address = base::address_from(entry->ifa_addr)) return address->text();
    return {};
}

// The RDMA devices of these network devices, each once.
std::vector<std::string> rdma_devices(const std::vector<std::string>& links,
                                      const std::filesystem::path& root) {
    std::vector<std::string> found;
    for (const std::string& link : links) {
        std::error_code error;
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(
                 root / "sys/class/net" / link / "device/infiniband", error))
            names.push_back(entry.path().filename());
        std::sort(names.begin(), names.end());
        for (std::string& name : names)
            if (std::find(found.begin(), found.end(), name) == found.end())
                found.push_back(std::move(name));
    }
    return found;
}

constexpr std::array names_of_a_meeting{"RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_RANK",
                                        "LOCAL_WORLD_SIZE",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "GLOO_SOCKET_IFNAME",
                                        "NCCL_SOCKET_IFNAME",
                                        "NCCL_IB_HCA",
                                        "NCCL_IB_SUBNET_AWARE_ROUTING"};

}  // namespace

std::vector<std::string> meeting_point(const std::vector<HostPlan>& hosts,
                                       const std::string& self) {
    const auto zero = std::find_if(hosts.begin(), hosts.end(), [](const HostPlan& host) {
        return !host.ranks.empty() && host.ranks.front() == 0;
    });
    const bool alone = hosts.size() == 1 && zero->here;
    std::string address = alone ? "127.0.0.1" : zero->here ? planned_address() : zero->name;
    if (address.empty()) address = self;
    std::vector<std::string> variables{fmt::format("MASTER_ADDR={}", address),
                                       fmt::format("MASTER_PORT={}", choose_port(zero->here))};
    if (alone) {
        variables.emplace_back("GLOO_SOCKET_IFNAME=lo");
        variables.emplace_back("NCCL_SOCKET_IFNAME=lo");
    }
    return variables;
}

bool has_planned_address() {
    return !planned_address().empty();
}

// Each cable is a network of its own, so NCCL must choose the RDMA device that leads to a peer by
// its network. It takes "lo:torus" for a device and a port, hence the links, to whose addresses the
// plan has routes if they have RDMA.
std::vector<std::string> meeting_devices(const std::vector<std::string>& links,
                                         const std::filesystem::path& root) {
    std::vector<std::string> variables{fmt::format("GLOO_SOCKET_IFNAME={}", config::node_label)};
    const std::vector<std::string> rdma = rdma_devices(links, root);
    if (rdma.empty()) return variables;
    variables.push_back(fmt::format("NCCL_SOCKET_IFNAME=={}", fmt::join(links, ",")));
    variables.push_back(fmt::format("NCCL_IB_HCA=={}", fmt::join(rdma, ",")));
    variables.emplace_back("NCCL_IB_SUBNET_AWARE_ROUTING=1");
    return variables;
}

bool is_of_a_meeting(std::string_view name) {
    return std::find(names_of_a_meeting.begin(), names_of_a_meeting.end(), name) !=
           names_of_a_meeting.end();
}

}  // namespace torusmp::torus_run

// SPDX-License-Identifier: BSD-3-Clause
// The RDMA hardware of this host: the verbs device of each network device, the state and MTU of its
// port, and its GIDs.
//
// Names and states are read from sysfs, which needs no privilege; for the MTU and GIDs the device
// is opened, which shows whether this process may use it. On a host without RDMA the cost is one
// lookup of a folder that does not exist. All are plain values without state; any thread may call.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"

namespace torusmp::transport::verbs {

// One entry of a port's GID table: an address of its network device in the form that verbs uses.
struct RdmaGid {
    int index = 0;
    std::array<std::uint8_t, 16> bytes{};
    bool roce_v2 = false;  // otherwise RoCE v1, InfiniBand or iWARP

    base::Address address() const;  // IPv4 if the GID maps one
    friend bool operator==(const RdmaGid&, const RdmaGid&) = default;
};

struct RdmaPort {
    std::string device;  // "rxe0", "mlx5_0"
    int port = 1;
    std::string netdev;  // "enp1s0f1"
    bool active = false;
    std::string state;          // "ACTIVE", "DOWN", "INIT", ...
    int mtu = 0;                // current packet payload in bytes; 0 if there is `trouble`
    int max_mtu = 0;            // largest MTU of the device
    std::string link_layer;     // "Ethernet", "InfiniBand"
    std::vector<RdmaGid> gids;  // those of `netdev`
    // Why this process cannot use the port although it exists: what was found, and the remedy.
    // Empty if it can.
    std::string trouble;

    friend bool operator==(const RdmaPort&, const RdmaPort&) = default;
};

// The ports behind these network devices, or behind all: one for each, and none for a device
// without RDMA. Cheaper than a call for each device.
std::vector<RdmaPort> rdma_ports(const std::vector<std::string>& netdevs = {});
// nullopt if it has no RDMA device.
std::optional<RdmaPort> rdma_port_of(const std::string& netdev);

// "0 (fe80::1) and 1 (10.0.0.1)": the RoCE v2 GIDs of a port; or "none".
std::string describe_gids(const RdmaPort& port);

// A host's report about its ports (transport::Probe::offers()): lines of words.
//   rdma rxe0 1 enp1s0f0 ACTIVE 4096 4096 Ethernet
//   gid 1 v2 00000000000000000000ffff0a000001        of the port above; "other": not RoCE v2
//   trouble it cannot be opened: ...                 of the port above
std::vector<std::string> format_ports(const std::vector<RdmaPort>& ports);
// Throws ConfigError that quotes a line which format_ports() cannot have written.
std::vector<RdmaPort> parse_ports(const std::vector<std::string>& lines);

// Reads the ports below root/sys without opening devices: no MTU, no GIDs, no trouble. An
// InfiniBand port has no network device there.
std::vector<RdmaPort> read_rdma_ports(const std::filesystem::path& root = "/");

}  // namespace torusmp::transport::verbs

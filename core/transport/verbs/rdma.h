// SPDX-License-Identifier: BSD-3-Clause
// What RDMA this host has: which verbs device belongs to a network device, the state and MTU of its
// port, and its GIDs.
//
// Names and states are read from sysfs, which anybody may do; for MTU and GIDs the device is
// opened, which shows whether this process may use it. On a host without RDMA it costs one look for
// a folder that does not exist. All are plain values without state; any thread may call.
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

// One entry of a port's GID table: an address of its network device in the form of verbs.
struct RdmaGid {
    int index = 0;
    std::array<std::uint8_t, 16> bytes{};
    bool roce_v2 = false;  // false: RoCE v1, InfiniBand or iWARP

    base::Address address() const;  // IPv4 where the GID maps one
    friend bool operator==(const RdmaGid&, const RdmaGid&) = default;
};

struct RdmaPort {
    std::string device;  // "rxe0", "mlx5_0"
    int port = 1;
    std::string netdev;  // "enp1s0f1"
    bool active = false;
    std::string state;          // "ACTIVE", "DOWN", "INIT", ...
    int mtu = 0;                // current payload bytes of a packet; 0: see `trouble`
    int max_mtu = 0;            // the largest that the device supports
    std::string link_layer;     // "Ethernet", "InfiniBand"
    std::vector<RdmaGid> gids;  // those of `netdev`
    // Why this process cannot use it although it exists: what was found, and what to do. Empty: it
    // can.
    std::string trouble;

    friend bool operator==(const RdmaPort&, const RdmaPort&) = default;
};

// The ports behind these network devices, or behind all that have one: one for each, and none for a
// device without RDMA. Cheaper than asking for one at a time.
std::vector<RdmaPort> rdma_ports(const std::vector<std::string>& netdevs = {});
// Nothing: there is no RDMA device on it.
std::optional<RdmaPort> rdma_port_of(const std::string& netdev);

// "0 (fe80::1) and 1 (10.0.0.1)": the RoCE v2 GIDs of a port; "none".
std::string describe_gids(const RdmaPort& port);

// What a host reports about its ports (transport::Probe::offers()): lines of words.
//   rdma rxe0 1 enp1s0f0 ACTIVE 4096 4096 Ethernet
//   gid 1 v2 00000000000000000000ffff0a000001        of the port above; "other": not RoCE v2
//   trouble it cannot be opened: ...                 of the port above
std::vector<std::string> format_ports(const std::vector<RdmaPort>& ports);
// Throws ConfigError that quotes the line that format_ports() would not have written.
std::vector<RdmaPort> parse_ports(const std::vector<std::string>& lines);

// What is found below root/sys without opening anything: no MTU, no GIDs, no trouble. A port of
// InfiniBand has no network device there.
std::vector<RdmaPort> read_rdma_ports(const std::filesystem::path& root = "/");

}  // namespace torusmp::transport::verbs

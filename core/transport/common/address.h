// SPDX-License-Identifier: BSD-3-Clause
// The addresses of an interface on network devices: those of the devices behind its ports, as
// distributed by the bootstrap, and the choice of the one that a peer uses.
//
// Plain values; data from a peer is checked when it is read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"

namespace torusmp::transport {

// Drawn at random by each interface: distinguishes it from all others of a job.
using Id = std::array<std::byte, 16>;

// One of the addresses of a device.
struct DeviceAddress : base::Address {
    bool on_loopback = false;  // on the host's loopback device, to which routes may lead
    friend bool operator==(const DeviceAddress&, const DeviceAddress&) = default;
};

// A port of an interface: the device it is bound to (empty: none), that device's addresses, and its
// number on the wire: a TCP port, or the number of a datagram queue pair.
struct Endpoint {
    std::uint32_t port = 0;
    std::uint32_t listens_on = 0;
    std::string device;
    std::vector<DeviceAddress> addresses;
};

struct Address {
    Id id{};
    std::string host;
    std::vector<Endpoint> endpoints;
    Endpoint anywhere;  // for ports without an endpoint of their own

    const Endpoint& endpoint(std::uint32_t port) const;
    std::vector<std::byte> encode() const;
    // Throws std::runtime_error if the bytes are not an address.
    static Address decode(std::span<const std::byte> bytes);
};

// The addresses of a device, IPv4 first; with an empty name, of all devices of this host. Throws
// std::runtime_error if the device does not exist, is down or has no address.
std::vector<DeviceAddress> addresses_of(const std::string& device);
// The addresses of a device that may be down, as far as it keeps them; may be empty.
std::vector<DeviceAddress> addresses_kept_by(const std::string& device);

// The addresses by which peers beyond a cable reach this host: those of the devices of these
// endpoints, or of all devices if there are none. An address on the loopback device, to which
// routes are laid, comes first.
std::vector<DeviceAddress> addresses_for_far_peers(const std::vector<Endpoint>& endpoints);

// The pair of addresses that two endpoints use: in one network if the cable's ends have one, else
// link-local; any routed pair if one endpoint is bound to no device. nullopt without such a
// pair.
struct Pair {
    base::Address own;
    base::Address peer;
};
std::optional<Pair> choose_pair(const Endpoint& own, const Endpoint& peer);

// The endpoint in messages, for example "device enp1s0f0 of qcd000 (10.0.0.1/30)".
std::string describe(const Endpoint& endpoint, const std::string& host);

}  // namespace torusmp::transport

// Where an interface on network devices can be reached: the addresses of the devices behind its
// ports, as they go through the bootstrap's exchange, and which of them a peer uses.
//
// Plain values; what comes from a peer is checked when it is read.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"

namespace torusmp::transport {

// Drawn by each interface: tells it from every other one of a job.
using Id = std::array<std::byte, 16>;

// One of the addresses of a device.
struct DeviceAddress : base::Address {
    bool on_loopback = false;  // on the host's loopback device, to which routes may lead
    friend bool operator==(const DeviceAddress&, const DeviceAddress&) = default;
};

// device: index of the own device that a link-local address lies behind.
sockaddr_storage socket_address(const base::Address& address, std::uint16_t port, unsigned device);

// A port of an interface: the device it is bound to (empty: none), that device's addresses, and
// the number on which it listens: a TCP port, or a datagram queue pair.
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
    // Throws std::runtime_error for what is no address.
    static Address decode(std::span<const std::byte> bytes);
};

// The addresses of a device, IPv4 first; empty name: of all devices of this host. Throws
// std::runtime_error when the device does not exist, is down or has none.
std::vector<DeviceAddress> addresses_of(const std::string& device);

// Those by which peers beyond a cable reach this host: of the devices of these endpoints, or of
// all where there are none; one that the host carries on its loopback device, to which routes are
// laid, comes first.
std::vector<DeviceAddress> addresses_for_far_peers(const std::vector<Endpoint>& endpoints);

// The pair of addresses over which two endpoints talk: one network of a cable's ends or their
// link-local addresses; whatever is routed where one of them is bound to no device. Nothing where
// there is no such pair.
struct Pair {
    base::Address own;
    base::Address peer;
};
std::optional<Pair> choose_pair(const Endpoint& own, const Endpoint& peer);

// For messages: "device enp1s0f0 of qcd000 (10.0.0.1/30)".
std::string describe(const Endpoint& endpoint, const std::string& host);

}  // namespace torusmp::transport

// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/common/address.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "base/packing.h"
#include "base/socket_address.h"

namespace torusmp::transport {
namespace {

constexpr std::uint32_t magic = 0x61646432;  // "add2"
constexpr std::size_t most_endpoints = 64;
constexpr std::size_t most_addresses = 32;

// The wire form of a DeviceAddress; only bytes, so that it has no padding.
struct AddressRecord {
    std::uint8_t family;
    std::uint8_t prefix;
    std::uint8_t on_loopback;
    std::array<std::uint8_t, 16> bytes;
};

void pack(base::Packer& packer, const Endpoint& endpoint) {
    std::vector<AddressRecord> records;
    for (const DeviceAddress& address : endpoint.addresses)
        if (records.size() < most_addresses)
            records.push_back({std::uint8_t(address.v6 ? 6 : 4), std::uint8_t(address.prefix),
                               std::uint8_t(address.on_loopback ? 1 : 0), address.bytes});
    packer.add(endpoint.port).add(endpoint.listens_on).add(endpoint.device);
    packer.add(std::uint64_t(records.size())).append(std::as_bytes(std::span(records)));
}

[[noreturn]] void refuse() {
    throw std::runtime_error("a peer's address has the format of another version");
}

Endpoint unpack_endpoint(base::Unpacker& unpacker) {
    Endpoint endpoint;
    endpoint.port = unpacker.get<std::uint32_t>();
    endpoint.listens_on = unpacker.get<std::uint32_t>();
    endpoint.device = unpacker.text();
    const auto records = unpacker.records<AddressRecord>();
    if (records.size() > most_addresses) refuse();
    for (const AddressRecord& record : records) {
        DeviceAddress& address = endpoint.addresses.emplace_back();
        address.v6 = record.family == 6;
        address.prefix = record.prefix;
        address.on_loopback = record.on_loopback != 0;
        address.bytes = record.bytes;
        if ((record.family != 4 && record.family != 6) || address.prefix > (address.v6 ? 128 : 32))
            refuse();
    }
    return endpoint;
}

Address unpack(base::Unpacker& unpacker) {
    if (unpacker.get<std::uint32_t>() != magic) refuse();
    Address address;
    for (std::byte& byte : address.id) byte = std::byte(unpacker.get<std::uint8_t>());
    address.host = unpacker.text();
    address.anywhere = unpack_endpoint(unpacker);
    const std::size_t count = unpacker.count(1);
    if (count > most_endpoints) refuse();
    for (std::size_t i = 0; i < count; ++i) address.endpoints.push_back(unpack_endpoint(unpacker));
    if (!unpacker.rest().empty()) refuse();
    return address;
}

std::optional<DeviceAddress> read_address(const ifaddrs& entry) {
    const auto found = base::address_from(entry.ifa_addr);
    if (!found) return std::nullopt;
    DeviceAddress address{*found};
    address.prefix = base::prefix_from(entry.ifa_netmask);
    address.on_loopback = (entry.ifa_flags & IFF_LOOPBACK) != 0;
    return address;
}

// Best for all peers first: addresses on the loopback device (routes lead there over any cable),
// then IPv4, and link-local addresses last, which reach no peer beyond a cable.
int order(const DeviceAddress& address) {
    if (address.loopback()) return 4;
    if (address.on_loopback) return 0;
    if (address.link_local()) return 3;
    return address.v6 ? 2 : 1;
}

void sort_by_use(std::vector<DeviceAddress>& addresses) {
    std::stable_sort(
        addresses.begin(), addresses.end(),
        [](const DeviceAddress& a, const DeviceAddress& b) { return order(a) < order(b); });
}

}  // namespace

const Endpoint& Address::endpoint(std::uint32_t port) const {
    for (const Endpoint& endpoint : endpoints)
        if (endpoint.port == port) return endpoint;
    return anywhere;
}

std::vector<std::byte> Address::encode() const {
    base::Packer packer;
    packer.add(magic).append(id).add(host);
    pack(packer, anywhere);
    packer.add(std::uint64_t(endpoints.size()));
    for (const Endpoint& endpoint : endpoints) pack(packer, endpoint);
    return packer.take();
}

Address Address::decode(std::span<const std::byte> bytes) {
    try {
        base::Unpacker unpacker(bytes);
        return unpack(unpacker);
    } catch (const base::PackingError&) {
        refuse();
    }
}

namespace {

using Interfaces = std::unique_ptr<ifaddrs, decltype(&freeifaddrs)>;

Interfaces interfaces_of_host() {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0)
        throw std::runtime_error(
            fmt::format("cannot read the addresses of this host: {}", std::strerror(errno)));
    return {first, &freeifaddrs};
}

}  // namespace

std::vector<DeviceAddress> addresses_of(const std::string& device) {
    const Interfaces first = interfaces_of_host();
    std::vector<DeviceAddress> addresses;
    bool exists = device.empty();
    bool up = device.empty();
    for (const ifaddrs* entry = first.get(); entry != nullptr; entry = entry->ifa_next) {
        if (!device.empty() && device != entry->ifa_name) continue;
        exists = true;
        if ((entry->ifa_flags & IFF_UP) == 0) continue;
        up = true;
        if (const auto address = read_address(*entry)) addresses.push_back(*address);
    }
    if (!exists) throw std::runtime_error(fmt::format("device {} does not exist", device));
    if (!up) throw std::runtime_error(fmt::format("device {} is down", device));
    if (addresses.empty())
        throw std::runtime_error(
            fmt::format("{} has no IP address", device.empty() ? std::string("this host")
                                                               : fmt::format("device {}", device)));
    sort_by_use(addresses);
    return addresses;
}

std::vector<DeviceAddress> addresses_kept_by(const std::string& device) {
    const Interfaces first = interfaces_of_host();
    std::vector<DeviceAddress> addresses;
    for (const ifaddrs* entry = first.get(); entry != nullptr; entry = entry->ifa_next)
        if (device == entry->ifa_name)
            if (const auto address = read_address(*entry)) addresses.push_back(*address);
    sort_by_use(addresses);
    return addresses;
}

std::vector<DeviceAddress> addresses_for_far_peers(const std::vector<Endpoint>& endpoints) {
    std::vector<DeviceAddress> addresses = addresses_of("");
    if (!endpoints.empty()) {
        // Other networks of this host, such as one for its management, must not be used.
        const auto ours = [&](const DeviceAddress& address) {
            return address.on_loopback ||
                   std::any_of(endpoints.begin(), endpoints.end(), [&](const Endpoint& endpoint) {
                       return std::any_of(
                           endpoint.addresses.begin(), endpoint.addresses.end(),
                           [&](const DeviceAddress& it) { return it.bytes == address.bytes; });
                   });
        };
        std::erase_if(addresses, [&](const DeviceAddress& address) { return !ours(address); });
    }
    if (std::any_of(addresses.begin(), addresses.end(), [](const DeviceAddress& address) {
            return !address.loopback() && !address.link_local();
        }))
        std::erase_if(addresses, [](const DeviceAddress& address) {
            return address.loopback() || address.link_local();
        });
    return addresses;
}

std::optional<Pair> choose_pair(const Endpoint& own, const Endpoint& peer) {
    const bool cable = !own.device.empty() && !peer.device.empty();
    const auto first = [&](auto&& fits) -> std::optional<Pair> {
        for (const DeviceAddress& mine : own.addresses)
            for (const DeviceAddress& theirs : peer.addresses)
                if (mine.v6 == theirs.v6 && fits(mine, theirs)) return Pair{mine, theirs};
        return std::nullopt;
    };
    const auto share_network = [](const DeviceAddress& mine, const DeviceAddress& theirs) {
        return !mine.link_local() && mine.same_network(theirs);
    };
    if (cable) {
        if (const auto pair = first(share_network)) return pair;
        return first([](const DeviceAddress& mine, const DeviceAddress& theirs) {
            return mine.link_local() && theirs.link_local();
        });
    }
    if (const auto pair = first([](const DeviceAddress& mine, const DeviceAddress& theirs) {
            return mine.on_loopback && theirs.on_loopback;
        }))
        return pair;
    if (const auto pair = first(share_network)) return pair;
    return first([](const DeviceAddress& mine, const DeviceAddress& theirs) {
        return !mine.link_local() && !theirs.link_local();
    });
}

std::string describe(const Endpoint& endpoint, const std::string& host) {
    std::string addresses;
    for (const DeviceAddress& address : endpoint.addresses)
        addresses += fmt::format("{}{}", addresses.empty() ? "" : ", ", address.with_prefix());
    return endpoint.device.empty()
               ? fmt::format("{} ({})", host, addresses)
               : fmt::format("device {} of {} ({})", endpoint.device, host, addresses);
}

}  // namespace torusmp::transport

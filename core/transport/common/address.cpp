// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/common/address.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "base/socket_address.h"

namespace torusmp::transport {
namespace {

constexpr std::uint32_t magic = 0x61646431;  // "add1"
constexpr std::size_t most_endpoints = 64;
constexpr std::size_t most_addresses = 32;
constexpr std::size_t longest_name = 255;

class Writer {
  public:
    template <class T>
    void number(T value) {
        const auto bytes = std::as_bytes(std::span(&value, 1));
        out.insert(out.end(), bytes.begin(), bytes.end());
    }
    void text(const std::string& value) {
        const std::string cut = value.substr(0, longest_name);
        number(std::uint8_t(cut.size()));
        const auto bytes = std::as_bytes(std::span(cut));
        out.insert(out.end(), bytes.begin(), bytes.end());
    }
    void address(const DeviceAddress& address) {
        number(std::uint8_t(address.v6 ? 6 : 4));
        number(std::uint8_t(address.prefix));
        number(std::uint8_t(address.on_loopback ? 1 : 0));
        number(address.bytes);
    }
    void endpoint(const Endpoint& endpoint) {
        number(endpoint.port);
        number(endpoint.listens_on);
        text(endpoint.device);
        const std::size_t count = std::min(endpoint.addresses.size(), most_addresses);
        number(std::uint8_t(count));
        for (std::size_t i = 0; i < count; ++i) address(endpoint.addresses[i]);
    }
    std::vector<std::byte> out;
};

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}

    template <class T>
    T number() {
        T value{};
        const auto from = take(sizeof value);
        std::memcpy(&value, from.data(), sizeof value);
        return value;
    }
    std::string text() {
        const auto from = take(number<std::uint8_t>());
        return {reinterpret_cast<const char*>(from.data()), from.size()};
    }
    Endpoint endpoint() {
        Endpoint endpoint;
        endpoint.port = number<std::uint32_t>();
        endpoint.listens_on = number<std::uint32_t>();
        endpoint.device = text();
        const std::size_t count = number<std::uint8_t>();
        if (count > most_addresses) refuse();
        for (std::size_t i = 0; i < count; ++i) endpoint.addresses.push_back(address());
        return endpoint;
    }
    DeviceAddress address() {
        const int family = number<std::uint8_t>();
        DeviceAddress address;
        address.v6 = family == 6;
        address.prefix = number<std::uint8_t>();
        address.on_loopback = number<std::uint8_t>() != 0;
        address.bytes = number<std::array<std::uint8_t, 16>>();
        if ((family != 4 && family != 6) || address.prefix > (address.v6 ? 128 : 32)) refuse();
        return address;
    }
    bool empty() const { return left_.empty(); }
    [[noreturn]] static void refuse() {
        throw std::runtime_error("a peer's address is not one of this version");
    }

  private:
    std::span<const std::byte> take(std::size_t bytes) {
        if (bytes > left_.size()) refuse();
        const auto taken = left_.first(bytes);
        left_ = left_.subspan(bytes);
        return taken;
    }
    std::span<const std::byte> left_;
};

std::optional<DeviceAddress> read_address(const ifaddrs& entry) {
    const auto found = base::address_from(entry.ifa_addr);
    if (!found) return std::nullopt;
    DeviceAddress address{*found};
    address.prefix = base::prefix_from(entry.ifa_netmask);
    address.on_loopback = (entry.ifa_flags & IFF_LOOPBACK) != 0;
    return address;
}

// The best for every peer first: addresses on the loopback device (routes lead there over any
// cable), then IPv4, and link-local ones last, which reach no peer beyond a cable.
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
    Writer writer;
    writer.number(magic);
    writer.number(id);
    writer.text(host);
    writer.endpoint(anywhere);
    writer.number(std::uint8_t(endpoints.size()));
    for (const Endpoint& endpoint : endpoints) writer.endpoint(endpoint);
    return writer.out;
}

Address Address::decode(std::span<const std::byte> bytes) {
    Reader reader(bytes);
    if (reader.number<std::uint32_t>() != magic) Reader::refuse();
    Address address;
    address.id = reader.number<Id>();
    address.host = reader.text();
    address.anywhere = reader.endpoint();
    const std::size_t count = reader.number<std::uint8_t>();
    if (count > most_endpoints) Reader::refuse();
    for (std::size_t i = 0; i < count; ++i) address.endpoints.push_back(reader.endpoint());
    if (!reader.empty()) Reader::refuse();
    return address;
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

#include "core/transport/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

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
    void endpoint(const Endpoint& endpoint) {
        number(endpoint.port);
        number(endpoint.listens_on);
        text(endpoint.device);
        const std::size_t count = std::min(endpoint.addresses.size(), most_addresses);
        number(std::uint8_t(count));
        for (std::size_t i = 0; i < count; ++i) number(endpoint.addresses[i]);
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
        for (std::size_t i = 0; i < count; ++i) {
            const auto address = number<IpAddress>();
            if (address.family != 4 && address.family != 6) refuse();
            endpoint.addresses.push_back(address);
        }
        return endpoint;
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

int prefix_of(const sockaddr* mask) {
    if (mask == nullptr) return 0;
    int bits = 0;
    if (mask->sa_family == AF_INET) {
        bits = __builtin_popcount(reinterpret_cast<const sockaddr_in*>(mask)->sin_addr.s_addr);
    } else {
        for (const std::uint8_t byte :
             reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr.s6_addr)
            bits += __builtin_popcount(byte);
    }
    return bits;
}

std::optional<IpAddress> read_address(const ifaddrs& entry) {
    if (entry.ifa_addr == nullptr) return std::nullopt;
    IpAddress address;
    address.prefix = std::uint8_t(prefix_of(entry.ifa_netmask));
    address.on_loopback = (entry.ifa_flags & IFF_LOOPBACK) != 0;
    if (entry.ifa_addr->sa_family == AF_INET) {
        const auto& from = *reinterpret_cast<const sockaddr_in*>(entry.ifa_addr);
        std::memcpy(address.bytes.data(), &from.sin_addr, 4);
    } else if (entry.ifa_addr->sa_family == AF_INET6) {
        const auto& from = *reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr);
        address.family = 6;
        std::memcpy(address.bytes.data(), &from.sin6_addr, 16);
    } else {
        return std::nullopt;
    }
    return address;
}

bool is_localhost(const IpAddress& address) {
    if (address.family == 4) return address.bytes[0] == 127;
    IpAddress one;
    one.bytes[15] = 1;
    return address.bytes == one.bytes;
}

// What suits every peer first: addresses on the loopback device (routes lead there over any
// cable), then IPv4, and link-local ones last, where no peer can be far.
int order(const IpAddress& address) {
    if (is_localhost(address)) return 4;
    if (address.on_loopback) return 0;
    if (address.link_local()) return 3;
    return address.family == 4 ? 1 : 2;
}

void sort_by_use(std::vector<IpAddress>& addresses) {
    std::stable_sort(addresses.begin(), addresses.end(),
                     [](const IpAddress& a, const IpAddress& b) { return order(a) < order(b); });
}

}  // namespace

bool IpAddress::same_network(const IpAddress& other) const {
    if (family != other.family || prefix != other.prefix) return false;
    const int width = family == 4 ? 32 : 128;
    const int bits = std::min<int>(prefix, width);
    for (int i = 0; i < bits; ++i) {
        const std::uint8_t mask = std::uint8_t(0x80u >> (i % 8));
        if ((bytes[std::size_t(i / 8)] & mask) != (other.bytes[std::size_t(i / 8)] & mask))
            return false;
    }
    return true;
}

sockaddr_storage IpAddress::socket_address(std::uint16_t port, unsigned device) const {
    sockaddr_storage storage{};
    if (family == 4) {
        auto& address = reinterpret_cast<sockaddr_in&>(storage);
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        std::memcpy(&address.sin_addr, bytes.data(), 4);
    } else {
        auto& address = reinterpret_cast<sockaddr_in6&>(storage);
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(port);
        std::memcpy(&address.sin6_addr, bytes.data(), 16);
        if (link_local()) address.sin6_scope_id = device;
    }
    return storage;
}

std::string IpAddress::text() const {
    char text[INET6_ADDRSTRLEN] = "?";
    inet_ntop(family == 4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text);
    return text;
}

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

std::vector<IpAddress> addresses_of(const std::string& device) {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0)
        throw std::runtime_error(
            fmt::format("cannot read the addresses of this host: {}", std::strerror(errno)));
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
    std::vector<IpAddress> addresses;
    bool exists = device.empty();
    bool up = device.empty();
    for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
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

std::vector<IpAddress> addresses_for_far_peers(const std::vector<Endpoint>& endpoints) {
    std::vector<IpAddress> addresses = addresses_of("");
    if (!endpoints.empty()) {
        // Other networks of this host, such as one for its management, are not ours to use.
        const auto ours = [&](const IpAddress& address) {
            return address.on_loopback != 0 ||
                   std::any_of(endpoints.begin(), endpoints.end(), [&](const Endpoint& endpoint) {
                       return std::any_of(
                           endpoint.addresses.begin(), endpoint.addresses.end(),
                           [&](const IpAddress& it) { return it.bytes == address.bytes; });
                   });
        };
        std::erase_if(addresses, [&](const IpAddress& address) { return !ours(address); });
    }
    if (std::any_of(addresses.begin(), addresses.end(), [](const IpAddress& address) {
            return !is_localhost(address) && !address.link_local();
        }))
        std::erase_if(addresses, [](const IpAddress& address) {
            return is_localhost(address) || address.link_local();
        });
    return addresses;
}

std::optional<Pair> choose_pair(const Endpoint& own, const Endpoint& peer) {
    const bool cable = !own.device.empty() && !peer.device.empty();
    const auto first = [&](auto&& fits) -> std::optional<Pair> {
        for (const IpAddress& mine : own.addresses)
            for (const IpAddress& theirs : peer.addresses)
                if (mine.family == theirs.family && fits(mine, theirs)) return Pair{mine, theirs};
        return std::nullopt;
    };
    const auto share_network = [](const IpAddress& mine, const IpAddress& theirs) {
        return !mine.link_local() && mine.same_network(theirs);
    };
    if (cable) {
        if (const auto pair = first(share_network)) return pair;
        return first([](const IpAddress& mine, const IpAddress& theirs) {
            return mine.link_local() && theirs.link_local();
        });
    }
    if (const auto pair = first([](const IpAddress& mine, const IpAddress& theirs) {
            return mine.on_loopback != 0 && theirs.on_loopback != 0;
        }))
        return pair;
    if (const auto pair = first(share_network)) return pair;
    return first([](const IpAddress& mine, const IpAddress& theirs) {
        return !mine.link_local() && !theirs.link_local();
    });
}

std::string describe(const Endpoint& endpoint, const std::string& host) {
    std::string addresses;
    for (const IpAddress& address : endpoint.addresses)
        addresses +=
            fmt::format("{}{}/{}", addresses.empty() ? "" : ", ", address.text(), address.prefix);
    return endpoint.device.empty()
               ? fmt::format("{} ({})", host, addresses)
               : fmt::format("device {} of {} ({})", endpoint.device, host, addresses);
}

}  // namespace torusmp::transport

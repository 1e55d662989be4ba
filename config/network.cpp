// SPDX-License-Identifier: BSD-3-Clause
#include "config/network.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <system_error>

#include "base/descriptor.h"
#include "base/first_line.h"
#include "base/netlink.h"
#include "base/socket_address.h"
#include "config/geometry.h"
#include "config/geometry_file.h"
#include "config/memory_lock.h"

namespace torusmp::config {

namespace {

[[noreturn]] void kernel_refuses(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// ---- Devices ----

std::string format_mac(const sockaddr_ll& link) {
    std::string mac;
    const bool any = std::any_of(link.sll_addr, link.sll_addr + std::min<int>(link.sll_halen, 8),
                                 [](unsigned char byte) { return byte != 0; });
    for (int i = 0; any && i < std::min<int>(link.sll_halen, 8); ++i)
        mac += fmt::format("{}{:02x}", i ? ":" : "", link.sll_addr[i]);
    return mac;
}

ifreq request_for(const std::string& device) {
    ifreq request{};
    std::memcpy(request.ifr_name, device.data(),
                std::min(device.size(), sizeof(request.ifr_name) - 1));
    return request;
}

// Asks by socket, not through /sys, which may show the devices of another network namespace.
void ask_device(int socket, Device& device) {
    ifreq request = request_for(device.name);
    if (::ioctl(socket, SIOCGIFMTU, &request) == 0) device.mtu = request.ifr_mtu;
    ethtool_cmd settings{};
    settings.cmd = ETHTOOL_GSET;
    request = request_for(device.name);
    request.ifr_data = reinterpret_cast<char*>(&settings);
    if (::ioctl(socket, SIOCETHTOOL, &request) != 0) return;
    const std::uint32_t speed = ethtool_cmd_speed(&settings);
    if (speed != 0 && speed < 0x7fffffff) device.megabits = int(speed);
    if (settings.duplex == DUPLEX_FULL || settings.duplex == DUPLEX_HALF)
        device.full_duplex = settings.duplex == DUPLEX_FULL;
}

void note_flags(Device& device, unsigned flags) {
    constexpr unsigned lower_up = 1u << 16;  // IFF_LOWER_UP, which <net/if.h> does not define
    device.loopback = flags & IFF_LOOPBACK;
    device.up = flags & IFF_UP;
    device.carrier = device.up && (flags & lower_up);
}

std::vector<Device> read_devices() {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) kernel_refuses("cannot list the network devices");
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> guard(first, &::freeifaddrs);
    std::map<std::string, Device> devices;
    for (const ifaddrs* entry = first; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr) continue;
        // An address may have a label, "eth0:1".
        const std::string name =
            std::string(entry->ifa_name).substr(0, std::strcspn(entry->ifa_name, ":"));
        Device& device = devices[name];
        device.name = name;
        note_flags(device, entry->ifa_flags);
        if (entry->ifa_addr->sa_family == AF_PACKET) {
            const auto& link = reinterpret_cast<const sockaddr_ll&>(*entry->ifa_addr);
            device.index = link.sll_ifindex;
            device.mac = format_mac(link);
        } else if (const auto address = base::address_from(entry->ifa_addr)) {
            device.addresses.push_back(*address);
            device.addresses.back().prefix = base::prefix_from(entry->ifa_netmask);
        }
    }
    const base::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket) kernel_refuses("cannot open a socket to ask about network devices");
    std::vector<Device> list;
    for (auto& [name, device] : devices) {
        ask_device(socket.get(), device);
        list.push_back(std::move(device));
    }
    std::sort(list.begin(), list.end(),
              [](const Device& a, const Device& b) { return a.index < b.index; });
    return list;
}

// ---- Routes ----

base::Address route_address(std::span<const std::byte> bytes, bool v6, int prefix) {
    base::Address address;
    address.v6 = v6;
    address.prefix = prefix;
    if (!bytes.empty())
        std::memcpy(address.bytes.data(), bytes.data(),
                    std::min<std::size_t>(bytes.size(), v6 ? 16 : 4));
    return address;
}

// Only usable routes: unicast routes of the main table.
void add_route(const nlmsghdr& message, std::vector<RouteFact>& routes) {
    if (message.nlmsg_type != RTM_NEWROUTE) return;
    const auto& route = base::body_of<rtmsg>(message);
    if (route.rtm_type != RTN_UNICAST || route.rtm_table != RT_TABLE_MAIN) return;
    const bool v6 = route.rtm_family == AF_INET6;
    RouteFact fact;
    fact.to = route_address({}, v6, route.rtm_dst_len);
    base::attributes_of<rtmsg>(message, [&](unsigned type, std::span<const std::byte> contents) {
        if (type == RTA_DST) fact.to = route_address(contents, v6, route.rtm_dst_len);
        if (type == RTA_GATEWAY) fact.via = route_address(contents, v6, v6 ? 128 : 32);
        char name[IF_NAMESIZE] = {};
        if (type == RTA_OIF && ::if_indextoname(base::number_in(contents), name) != nullptr)
            fact.device = name;
    });
    routes.push_back(std::move(fact));
}

std::vector<RouteFact> read_routes() {
    base::Netlink kernel(NETLINK_ROUTE);
    std::vector<RouteFact> routes;
    for (const int family : {AF_INET, AF_INET6}) {
        struct {
            nlmsghdr header{};
            rtmsg body{};
        } request;
        request.header.nlmsg_len = sizeof request;
        request.header.nlmsg_type = RTM_GETROUTE;
        request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
        request.body.rtm_family = static_cast<unsigned char>(family);
        errno = kernel.ask(request.header, [&](const nlmsghdr& it) { add_route(it, routes); });
        if (errno != 0) kernel_refuses("cannot read the kernel's routing table");
    }
    return routes;
}

// ---- Identity ----

std::string read_identity() {
    struct stat space {};
    if (::stat("/proc/self/ns/net", &space) != 0) return {};
    return fmt::format("{}:{}", this_machine(), space.st_ino);
}

HostFacts who_is_here() {
    HostFacts facts;
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) == 0) facts.name = name;
    facts.identity = read_identity();
    facts.lock_limit = memory_lock_limit();
    return facts;
}

}  // namespace

bool transmits(const Device& device) {
    const base::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request = request_for(device.name);
    return ::ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_RUNNING);
}

const base::Address* Device::ipv4() const {
    const auto found = std::find_if(addresses.begin(), addresses.end(),
                                    [](const base::Address& address) { return !address.v6; });
    return found == addresses.end() ? nullptr : &*found;
}

const base::Address* Device::ipv6_link_local() const {
    const auto found = std::find_if(
        addresses.begin(), addresses.end(),
        [](const base::Address& address) { return address.v6 && address.link_local(); });
    return found == addresses.end() ? nullptr : &*found;
}

const Device* HostFacts::find(std::string_view device) const {
    const auto found = std::find_if(devices.begin(), devices.end(),
                                    [&](const Device& known) { return known.name == device; });
    return found == devices.end() ? nullptr : &*found;
}

const base::Address* HostFacts::node_address() const {
    const auto usable = [](const base::Address& address) {
        return !address.loopback() && !address.link_local();
    };
    for (const bool loopback : {true, false})
        for (const Device& device : devices)
            for (const base::Address& address : device.addresses)
                if (device.loopback == loopback && usable(address)) return &address;
    return nullptr;
}

std::string this_machine() {
    return base::first_line("/proc/sys/kernel/random/boot_id");
}

HostFacts this_host(const std::string& geometry_file, bool with_routes) {
    HostFacts facts = who_is_here();
    if (!geometry_file.empty()) facts.geometry = file_hash(geometry_file);
    facts.devices = read_devices();
    facts.routes_known = with_routes;
    if (with_routes) facts.routes = read_routes();
    return facts;
}

std::vector<std::string> link_devices(const Settings& settings, int node) {
    const auto torus = node_torus(settings);
    std::vector<std::string> names;
    for (int i = 0; torus && i < 2 * torus->link_dimensions(); ++i) {
        const auto direction = routing::Direction::from_index(i);
        const std::string device = link_device(settings, node, direction);
        if (torus->neighbour(node, direction) && !device.empty()) names.push_back(device);
    }
    return names;
}

HostFacts facts_of_links(const Settings& settings, int node) {
    const std::vector<std::string> names = link_devices(settings, node);
    HostFacts facts = who_is_here();
    if (names.empty()) return facts;
    facts.devices = read_devices();
    std::erase_if(facts.devices, [&](const Device& device) {
        return std::find(names.begin(), names.end(), device.name) == names.end();
    });
    return facts;
}

std::string file_hash(const std::string& path) {
    std::string text;
    try {
        text = read_text_file(path);
    } catch (const ConfigError&) {
        return {};
    }
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: detects mistakes, not forgery
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return fmt::format("{:016x}", hash);
}

}  // namespace torusmp::config

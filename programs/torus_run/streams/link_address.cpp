// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/streams/link_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/descriptor.h"
#include "config/geometry.h"
#include "config/network.h"

namespace torusmp::torus_run {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds ask_again{100};

// A socket for echoes over one device. The kernel allows most users one kind (ping_group_range),
// and root another kind, which receives all ICMPv6 packets of the device.
class Echo {
  public:
    Echo(int node, const std::string& device) : node_(node), device_(device) {
        socket_ = base::Descriptor(
            socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6));
        if (!socket_)
            socket_ = base::Descriptor(
                socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6));
        index_ = if_nametoindex(device.c_str());
        const int own = 0;
        setsockopt(fd(), IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &own, sizeof own);
        setsockopt(fd(), SOL_SOCKET, SO_BINDTODEVICE, device.c_str(), socklen_t(device.size()));
    }

    int fd() const { return socket_.get(); }
    int node() const { return node_; }
    bool usable() const { return socket_ && index_ != 0; }

    void ask() const {
        icmp6_hdr echo{};
        echo.icmp6_type = ICMP6_ECHO_REQUEST;
        sockaddr_in6 all{};
        all.sin6_family = AF_INET6;
        all.sin6_scope_id = index_;
        inet_pton(AF_INET6, "ff02::1", &all.sin6_addr);
        // If sending fails (an address is still being verified), it is repeated.
        sendto(fd(), &echo, sizeof echo, 0, reinterpret_cast<const sockaddr*>(&all), sizeof all);
    }

    // The address that answered; empty if none has.
    std::string answer() const {
        char bytes[1500];
        sockaddr_in6 from{};
        socklen_t length = sizeof from;
        ssize_t n = 0;
        while ((n = recvfrom(fd(), bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from),
                             &length)) > 0) {
            icmp6_hdr header{};
            if (n < ssize_t(sizeof header)) continue;
            std::memcpy(&header, bytes, sizeof header);
            if (header.icmp6_type != ICMP6_ECHO_REPLY || from.sin6_scope_id != index_) continue;
            char text[INET6_ADDRSTRLEN];
            inet_ntop(AF_INET6, &from.sin6_addr, text, sizeof text);
            return fmt::format("{}%{}", text, device_);
        }
        return {};
    }

  private:
    int node_;
    std::string device_;
    base::Descriptor socket_;
    unsigned index_ = 0;
};

// Sends echoes over all these links repeatedly, and calls heard(link, address) for each answer,
// until done() or the time limit.
template <class Heard, class Done>
void hear_echoes(const std::vector<Echo>& links, milliseconds timeout, Heard&& heard, Done&& done) {
    std::vector<pollfd> ready;
    for (const Echo& link : links) ready.push_back({link.fd(), POLLIN, 0});
    const auto end = Clock::now() + timeout;
    auto next = Clock::now();
    while (!links.empty() && !done() && Clock::now() < end) {
        if (Clock::now() >= next) {
            for (const Echo& link : links) link.ask();
            next = Clock::now() + ask_again;
        }
        const auto wait = std::chrono::ceil<milliseconds>(std::min(next, end) - Clock::now());
        poll(ready.data(), ready.size(), int(std::max<long long>(wait.count(), 0)));
        for (const Echo& link : links)
            if (std::string address = link.answer(); !address.empty())
                heard(link, std::move(address));
    }
}

// Calls use(neighbour, device) for each link to one of these.
template <class Use>
void for_each_link(const config::Settings& settings, int node, const std::vector<int>& neighbours,
                   Use&& use) {
    const auto torus = node_torus(settings);
    for (int i = 0; torus && i < 2 * torus->link_dimensions(); ++i) {
        const auto direction = routing::Direction::from_index(i);
        const auto other = torus->neighbour(node, direction);
        const std::string device = config::link_device(settings, node, direction);
        if (other && !device.empty() &&
            std::find(neighbours.begin(), neighbours.end(), *other) != neighbours.end())
            use(*other, device);
    }
}

bool has_carrier(const std::string& device) {
    const base::Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    device.copy(request.ifr_name, sizeof request.ifr_name - 1);
    constexpr int both = IFF_UP | IFF_RUNNING;
    return ioctl(any.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & both) == both;
}

}  // namespace

std::vector<int> without_a_cable(const config::Settings& settings, int node,
                                 const std::vector<int>& neighbours) {
    std::map<int, bool> lives;
    for_each_link(settings, node, neighbours, [&](int other, const std::string& device) {
        lives[other] = has_carrier(device) || lives[other];
    });
    std::vector<int> dead;
    for (const auto& [other, living] : lives)
        if (!living) dead.push_back(other);
    return dead;
}

std::map<int, std::string> link_addresses(const config::Settings& settings, int node,
                                          const std::vector<int>& neighbours,
                                          milliseconds timeout) {
    std::map<int, std::string> found;
    std::vector<Echo> links;
    std::set<int> asked;
    for_each_link(settings, node, neighbours, [&](int other, const std::string& device) {
        Echo link(other, device);
        if (!link.usable() || !has_carrier(device)) return;
        links.push_back(std::move(link));
        asked.insert(other);
    });
    hear_echoes(
        links, timeout,
        [&](const Echo& link, std::string address) {
            found.emplace(link.node(), std::move(address));
        },
        [&] { return found.size() == asked.size(); });
    return found;
}

std::vector<std::string> addresses_on_links(milliseconds timeout) {
    std::vector<Echo> links;
    for (const config::Device& device : config::this_host().devices)
        if (Echo link(int(links.size()), device.name);
            !device.loopback && has_carrier(device.name) && link.usable())
            links.push_back(std::move(link));
    std::map<int, std::string> found;
    hear_echoes(
        links, timeout,
        [&](const Echo& link, std::string address) {
            found.emplace(link.node(), std::move(address));
        },
        [&] { return found.size() == links.size(); });
    std::vector<std::string> addresses;
    for (auto& [link, address] : found) addresses.push_back(std::move(address));
    return addresses;
}

}  // namespace torusmp::torus_run

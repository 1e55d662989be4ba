// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/tcp/sockets.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace torusmp::transport::tcp {

void fail(std::string_view what, int error) {
    throw std::runtime_error(fmt::format("tcp: {}: {}", what, std::strerror(error)));
}

void set(int socket, int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof value);
}

void set_buffer(int socket, int forced, int plain, std::size_t bytes) {
    const int value = int(std::min<std::size_t>(bytes, 1u << 30));
    if (setsockopt(socket, SOL_SOCKET, forced, &value, sizeof value) != 0)
        setsockopt(socket, SOL_SOCKET, plain, &value, sizeof value);
}

void bind_to_device(int socket, const std::string& device) {
    if (device.empty()) return;
    if (setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, device.c_str(), socklen_t(device.size())) !=
        0)
        fail(fmt::format("cannot bind a socket to device {}", device));
}

void set_keepalive(int socket, std::chrono::nanoseconds timeout, bool brisk) {
    using namespace std::chrono;
    const auto third = brisk ? floor<seconds>(timeout / 3) : ceil<seconds>(timeout / 3);
    const int interval = int(std::clamp<std::int64_t>(third.count(), 1, 1 << 14));
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPIDLE, interval);
    set(socket, IPPROTO_TCP, TCP_KEEPINTVL, interval);
    set(socket, IPPROTO_TCP, TCP_KEEPCNT, brisk ? 2 : 3);
}

std::uint16_t port_of(int socket) {
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length) != 0) fail("getsockname");
    return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

socklen_t length_of(const sockaddr_storage& address) {
    return address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

base::Descriptor open_listener(const std::string& device, std::uint16_t tcp_port,
                               std::size_t most_calling) {
    constexpr int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    base::Descriptor socket(::socket(AF_INET6, type, 0));
    sockaddr_storage any{};
    any.ss_family = AF_INET6;
    if (socket) {
        set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    } else {
        socket = base::Descriptor(::socket(AF_INET, type, 0));
        any.ss_family = AF_INET;
    }
    if (!socket) fail("cannot open a socket");
    bind_to_device(socket.get(), device);
    if (tcp_port != 0) {  // of a previous listener, whose connections may linger
        set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
        (any.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(any).sin6_port
                                   : reinterpret_cast<sockaddr_in&>(any).sin_port) =
            htons(tcp_port);
    }
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&any), length_of(any)) != 0 ||
        ::listen(socket.get(), int(most_calling)) != 0)
        fail(fmt::format("cannot listen{}", device.empty() ? "" : " on device " + device));
    return socket;
}

}  // namespace torusmp::transport::tcp

// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/tcp/call_socket.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/socket_address.h"
#include "core/transport/tcp/sockets.h"

namespace torusmp::transport::tcp {
namespace {

// A socket with this many unsent bytes in the kernel counts as full, so that packets after a large
// write do not wait for megabytes.
constexpr int most_unsent = 256 << 10;
// The congestion control of each connection. A cable has no other senders, so there is nothing to
// estimate, and an algorithm that paces by estimates (bbr) mistakes the pauses between messages for
// the cable's rate. This one is part of every kernel, and any process that may open a socket may
// select it.
constexpr std::string_view unpaced = "reno";

}  // namespace

void limit_silence(int socket, std::chrono::nanoseconds limit) {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
    set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, int(std::min<std::int64_t>(milliseconds, 1 << 30)));
}

void tune(int socket, const InterfaceOptions& options) {
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_buffer(socket, SO_SNDBUFFORCE, SO_SNDBUF, options.socket_buffer);
    set_buffer(socket, SO_RCVBUFFORCE, SO_RCVBUF, options.socket_buffer);
    set(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, most_unsent);
    setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, unpaced.data(), socklen_t(unpaced.size()));
    // Until the handshake has ended, in which an end may wait for the other without sending.
    set_keepalive(socket, options.timeout, false);
    limit_silence(socket, options.timeout);
}

base::Descriptor call_socket(const Calling& calling, const std::string& name,
                             const InterfaceOptions& options) {
    const sockaddr_storage own = base::socket_address(calling.pair->own, 0, calling.device);
    const sockaddr_storage peer = base::socket_address(
        calling.pair->peer, std::uint16_t(calling.theirs.listens_on), calling.device);
    base::Descriptor socket(::socket(own.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) fail(fmt::format("cannot open a socket for {}", name));
    bind_to_device(socket.get(), calling.device_name);
    tune(socket.get(), options);
    const auto* const from = reinterpret_cast<const sockaddr*>(&own);
    const auto* const to = reinterpret_cast<const sockaddr*>(&peer);
    if (bind(socket.get(), from, length_of(own)) != 0)
        fail(fmt::format("cannot bind a socket for {}", name));
    if (connect(socket.get(), to, length_of(peer)) != 0 && errno != EINPROGRESS)
        fail(fmt::format("cannot connect by {}", name));
    return socket;
}

}  // namespace torusmp::transport::tcp

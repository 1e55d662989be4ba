// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/common/knock.h"

#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

#include "base/socket_address.h"

namespace torusmp::transport {
namespace {

// The port of RoCE v2, which is UDP: TCP has no listener there.
constexpr std::uint16_t silent_port = 4791;

bool has_answer(int socket) {
    pollfd it{socket, POLLOUT, 0};
    if (socket < 0 || poll(&it, 1, 0) != 1) return false;
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
    return error == 0 || error == ECONNREFUSED;
}

}  // namespace

// A pending call is dropped, because the kernel would repeat it at growing intervals.
bool Knock::answered(const Pair& pair, const std::string& device) {
    const bool yes = has_answer(socket_.get());
    const unsigned index = if_nametoindex(device.c_str());
    const sockaddr_storage own = base::socket_address(pair.own, 0, index);
    const sockaddr_storage peer = base::socket_address(pair.peer, silent_port, index);
    const socklen_t length = own.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    socket_ =
        base::Descriptor(::socket(own.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket_ ||
        setsockopt(socket_.get(), SOL_SOCKET, SO_BINDTODEVICE, device.c_str(),
                   socklen_t(device.size())) != 0 ||
        bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), length) != 0 ||
        (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&peer), length) != 0 &&
         errno != EINPROGRESS))
        socket_.reset();
    return yes;
}

}  // namespace torusmp::transport

// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/tcp/attempt.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

namespace torusmp::transport::tcp {
namespace {

bool may_go_on(int error) {
    return error == EAGAIN || error == EINTR;
}

}  // namespace

int Attempt::exchange() {
    std::array<std::byte, 256> buffer;
    for (;;) {
        while (!handshake.to_write().empty()) {
            const auto bytes = handshake.to_write();
            const ssize_t sent =
                ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent < 0) return may_go_on(errno) ? 0 : errno;
            handshake.written(std::size_t(sent));
        }
        if (handshake.wants() == 0) return 0;
        const std::size_t most = std::min(handshake.wants(), buffer.size());
        const ssize_t got = recv(socket.get(), buffer.data(), most, MSG_DONTWAIT);
        if (got < 0) return may_go_on(errno) ? 0 : errno;
        if (got == 0) return closed;
        if (!handshake.read(std::span(buffer).first(std::size_t(got)))) return invalid;
    }
}

}  // namespace torusmp::transport::tcp

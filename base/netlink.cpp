// SPDX-License-Identifier: BSD-3-Clause
#include "base/netlink.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

namespace torusmp::base {
namespace {

// The result if the message ends the answer: 0, or an error. Empty: more messages follow.
std::optional<int> end_of_answer(const nlmsghdr& message) {
    if (message.nlmsg_type == NLMSG_DONE) return 0;
    if (message.nlmsg_type == NLMSG_ERROR) return -body_of<nlmsgerr>(message).error;
    return std::nullopt;
}

}  // namespace

Netlink::Netlink(int protocol) : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol)) {
    if (!socket_)
        throw std::system_error(errno, std::generic_category(), "cannot open a netlink socket");
}

int Netlink::ask(const nlmsghdr& request, const std::function<void(const nlmsghdr&)>& on_answer) {
    if (send(socket_.get(), &request, request.nlmsg_len, 0) < 0) return errno;
    alignas(nlmsghdr) std::array<std::byte, 64 << 10> buffer;
    std::optional<int> end;
    while (!end) {
        const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0 ? errno : EPIPE;
        messages_in(std::span(buffer).first(std::size_t(got)), [&](const nlmsghdr& message) {
            end = end_of_answer(message);
            if (!end && on_answer) on_answer(message);
            return !end;
        });
    }
    return *end;
}

}  // namespace torusmp::base

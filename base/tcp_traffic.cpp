// SPDX-License-Identifier: BSD-3-Clause
#include "base/tcp_traffic.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/descriptor.h"

namespace torusmp::base {
namespace {

constexpr std::uint32_t established = 1u << 1;  // TCP_ESTABLISHED, as a set of states

[[noreturn]] void refuse() {
    throw std::system_error(errno, std::generic_category(), "cannot read TCP connections");
}

void ask(int socket, int family) {
    struct {
        nlmsghdr head;
        inet_diag_req_v2 body;
    } request{};
    request.head.nlmsg_len = sizeof request;
    request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.body.sdiag_family = std::uint8_t(family);
    request.body.sdiag_protocol = IPPROTO_TCP;
    request.body.idiag_ext = 1u << (INET_DIAG_INFO - 1);
    request.body.idiag_states = established;
    if (send(socket, &request, sizeof request, 0) != ssize_t(sizeof request)) refuse();
}

void take(const inet_diag_msg& message, std::size_t bytes, std::vector<TcpTraffic>& all) {
    if (message.id.idiag_if == 0) return;
    TcpTraffic found;
    found.connection = std::uint64_t(message.id.idiag_cookie[1]) << 32 | message.id.idiag_cookie[0];
    found.device = message.id.idiag_if;
    const auto* attribute = reinterpret_cast<const rtattr*>(&message + 1);
    for (int left = int(bytes - sizeof message); RTA_OK(attribute, left);
         attribute = RTA_NEXT(attribute, left)) {
        if (attribute->rta_type != INET_DIAG_INFO) continue;
        tcp_info info{};  // an older kernel's is shorter
        std::memcpy(&info, RTA_DATA(attribute),
                    std::min<std::size_t>(RTA_PAYLOAD(attribute), sizeof info));
        found.bytes = info.tcpi_bytes_acked;
        found.busy = info.tcpi_busy_time - std::min(info.tcpi_busy_time, info.tcpi_rwnd_limited);
        all.push_back(found);
    }
}

// All that one request brings.
void read_all(int socket, std::vector<TcpTraffic>& all) {
    alignas(nlmsghdr) std::array<char, 32768> buffer;
    for (;;) {
        const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) refuse();
        int left = int(got);
        for (auto* head = reinterpret_cast<const nlmsghdr*>(buffer.data()); NLMSG_OK(head, left);
             head = NLMSG_NEXT(head, left)) {
            if (head->nlmsg_type == NLMSG_DONE) return;
            if (head->nlmsg_type == NLMSG_ERROR) {
                errno = EOPNOTSUPP;
                refuse();
            }
            if (head->nlmsg_len >= NLMSG_LENGTH(sizeof(inet_diag_msg)))
                take(*static_cast<const inet_diag_msg*>(NLMSG_DATA(head)), NLMSG_PAYLOAD(head, 0),
                     all);
        }
    }
}

}  // namespace

std::vector<TcpTraffic> read_tcp_traffic() {
    const Descriptor socket(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!socket) refuse();
    std::vector<TcpTraffic> all;
    for (const int family : {AF_INET, AF_INET6}) {
        ask(socket.get(), family);
        read_all(socket.get(), all);
    }
    return all;
}

}  // namespace torusmp::base

// SPDX-License-Identifier: BSD-3-Clause
#include "base/tcp_traffic.h"

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <system_error>

#include "base/netlink.h"

namespace torusmp::base {
namespace {

constexpr std::uint32_t established = 1u << 1;  // TCP_ESTABLISHED, as a set of states

void take(const nlmsghdr& answer, std::vector<TcpTraffic>& all) {
    if (answer.nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg))) return;
    const auto& message = body_of<inet_diag_msg>(answer);
    if (message.id.idiag_if == 0) return;
    TcpTraffic found;
    found.connection = std::uint64_t(message.id.idiag_cookie[1]) << 32 | message.id.idiag_cookie[0];
    found.device = message.id.idiag_if;
    attributes_of<inet_diag_msg>(answer, [&](unsigned type, auto contents) {
        if (type != INET_DIAG_INFO) return;
        tcp_info info{};  // shorter in older kernels
        std::memcpy(&info, contents.data(), std::min(contents.size(), sizeof info));
        found.bytes = info.tcpi_bytes_acked;
        found.busy = info.tcpi_busy_time - std::min(info.tcpi_busy_time, info.tcpi_rwnd_limited);
        found.packets = info.tcpi_data_segs_out;
        // The other end reports spurious retransmissions.
        found.lost =
            info.tcpi_total_retrans - std::min(info.tcpi_total_retrans, info.tcpi_dsack_dups);
        found.silent = info.tcpi_retransmits != 0;
        all.push_back(found);
    });
}

}  // namespace

std::vector<TcpTraffic> read_tcp_traffic() {
    Netlink kernel(NETLINK_SOCK_DIAG);
    std::vector<TcpTraffic> all;
    for (const int family : {AF_INET, AF_INET6}) {
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
        const auto on_answer = [&](const nlmsghdr& answer) { take(answer, all); };
        if (const int error = kernel.ask(request.head, on_answer); error != 0)
            throw std::system_error(error, std::generic_category(), "cannot read TCP connections");
    }
    return all;
}

}  // namespace torusmp::base

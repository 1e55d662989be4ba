// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/common/route.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/descriptor.h"

namespace torusmp::transport {
namespace {

struct RouteQuestion {
    nlmsghdr header{};
    rtmsg body{};
    rtattr attribute{};
    std::array<std::uint8_t, 16> to{};
};

}  // namespace

std::string device_towards(const base::Address& address) {
    const base::Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (!socket) return {};
    const std::size_t bytes = address.v6 ? 16 : 4;
    RouteQuestion question;
    question.header.nlmsg_len = std::uint32_t(offsetof(RouteQuestion, to) + bytes);
    question.header.nlmsg_type = RTM_GETROUTE;
    question.header.nlmsg_flags = NLM_F_REQUEST;
    question.body.rtm_family = address.v6 ? AF_INET6 : AF_INET;
    question.body.rtm_dst_len = static_cast<unsigned char>(8 * bytes);
    question.attribute.rta_type = RTA_DST;
    question.attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(bytes));
    std::memcpy(question.to.data(), address.bytes.data(), bytes);
    if (send(socket.get(), &question, question.header.nlmsg_len, 0) < 0) return {};

    alignas(nlmsghdr) std::array<char, 4096> answer{};
    const ssize_t got = recv(socket.get(), answer.data(), answer.size(), 0);
    const auto* const header = reinterpret_cast<const nlmsghdr*>(answer.data());
    if (got < 0 || !NLMSG_OK(header, unsigned(got)) || header->nlmsg_type != RTM_NEWROUTE)
        return {};
    const auto* const route = static_cast<const rtmsg*>(NLMSG_DATA(header));
    if (route->rtm_type != RTN_UNICAST) return {};
    int left = int(RTM_PAYLOAD(header));
    for (const rtattr* at = RTM_RTA(route); RTA_OK(at, left); at = RTA_NEXT(at, left)) {
        if (at->rta_type != RTA_OIF) continue;
        unsigned index = 0;
        std::memcpy(&index, RTA_DATA(at), sizeof index);
        std::array<char, IF_NAMESIZE> name{};
        return if_indextoname(index, name.data()) != nullptr ? name.data() : "";
    }
    return {};
}

}  // namespace torusmp::transport

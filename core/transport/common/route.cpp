// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/common/route.h"

#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "base/netlink.h"

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
    const std::size_t bytes = address.v6 ? 16 : 4;
    RouteQuestion question;
    question.header.nlmsg_len = std::uint32_t(offsetof(RouteQuestion, to) + bytes);
    question.header.nlmsg_type = RTM_GETROUTE;
    question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    question.body.rtm_family = address.v6 ? AF_INET6 : AF_INET;
    question.body.rtm_dst_len = static_cast<unsigned char>(8 * bytes);
    question.attribute.rta_type = RTA_DST;
    question.attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(bytes));
    std::memcpy(question.to.data(), address.bytes.data(), bytes);
    unsigned device = 0;
    const auto on_answer = [&](const nlmsghdr& answer) {
        if (answer.nlmsg_type != RTM_NEWROUTE) return;
        if (base::body_of<rtmsg>(answer).rtm_type != RTN_UNICAST) return;
        base::attributes_of<rtmsg>(answer, [&](unsigned type, auto contents) {
            if (type == RTA_OIF) device = base::number_in(contents);
        });
    };
    try {
        base::Netlink(NETLINK_ROUTE).ask(question.header, on_answer);
    } catch (const std::system_error&) {
        return {};
    }
    std::array<char, IF_NAMESIZE> name{};
    return device != 0 && if_indextoname(device, name.data()) != nullptr ? name.data() : "";
}

}  // namespace torusmp::transport

// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/common/monitor.h"

#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace torusmp::transport {

Monitor::Monitor()
    : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE)) {
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = RTMGRP_LINK;
    if (bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        socket_.reset();
}

namespace {

// By the flags of net_device(7); the kernel calls a carrier IFF_LOWER_UP in its messages.
std::string_view trouble_in(unsigned flags, unsigned carrier) {
    if ((flags & IFF_UP) == 0) return "is down";
    return (flags & carrier) == 0 ? "has lost its carrier" : "";
}

}  // namespace

bool Monitor::read(const std::function<void(unsigned, std::string_view)>& gone) {
    alignas(nlmsghdr) std::array<std::byte, 16384> buffer;
    bool usable = false;
    for (;;) {
        const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
        if (got <= 0) return usable;
        int left = int(got);
        for (auto* message = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(message, left);
             message = NLMSG_NEXT(message, left)) {
            if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK) continue;
            const auto* link = static_cast<const ifinfomsg*>(NLMSG_DATA(message));
            const auto index = unsigned(link->ifi_index);
            const std::string_view trouble = message->nlmsg_type == RTM_DELLINK
                                                 ? "is gone"
                                                 : trouble_in(link->ifi_flags, IFF_LOWER_UP);
            if (trouble.empty())
                usable = true;
            else
                gone(index, trouble);
        }
    }
}

std::string_view trouble_of_device(const std::string& device) {
    const base::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    if (!socket || device.empty() || device.size() >= sizeof request.ifr_name) return "";
    std::copy(device.begin(), device.end(), request.ifr_name);
    if (ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return errno == ENODEV ? "is gone" : "";
    return trouble_in(std::uint16_t(request.ifr_flags), IFF_RUNNING);
}

}  // namespace torusmp::transport

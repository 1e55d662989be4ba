// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/common/monitor.h"

#include <linux/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/netlink.h"

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

// From the flags of netdevice(7); the kernel's messages call a carrier IFF_LOWER_UP.
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
        base::messages_in(std::span(buffer).first(std::size_t(got)), [&](const nlmsghdr& message) {
            const bool removed = message.nlmsg_type == RTM_DELLINK;
            if (!removed && message.nlmsg_type != RTM_NEWLINK) return true;
            const auto& link = base::body_of<ifinfomsg>(message);
            const std::string_view trouble =
                removed ? "is gone" : trouble_in(link.ifi_flags, IFF_LOWER_UP);
            if (trouble.empty())
                usable = true;
            else
                gone(unsigned(link.ifi_index), trouble);
            return true;
        });
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

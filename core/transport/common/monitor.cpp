#include "core/transport/common/monitor.h"

#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>

namespace torusmp::transport {

Monitor::Monitor()
    : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE)) {
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = RTMGRP_LINK;
    if (bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        socket_.reset();
}

void Monitor::read(const std::function<void(unsigned, std::string_view)>& tell) {
    alignas(nlmsghdr) std::array<std::byte, 16384> buffer;
    for (;;) {
        const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
        if (got <= 0) return;
        int left = int(got);
        for (auto* message = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(message, left);
             message = NLMSG_NEXT(message, left)) {
            if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK) continue;
            const auto* link = static_cast<const ifinfomsg*>(NLMSG_DATA(message));
            const auto index = unsigned(link->ifi_index);
            if (message->nlmsg_type == RTM_DELLINK)
                tell(index, "is gone");
            else if ((link->ifi_flags & IFF_UP) == 0)
                tell(index, "is down");
            else if ((link->ifi_flags & IFF_LOWER_UP) == 0)
                tell(index, "has lost its carrier");
        }
    }
}

}  // namespace torusmp::transport

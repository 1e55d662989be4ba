// SPDX-License-Identifier: BSD-3-Clause
#include "base/link_counters.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <netpacket/packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

namespace torusmp::base {

LinkCounters LinkCounters::since(const LinkCounters& before) const {
    LinkCounters difference;
    for (std::size_t i = 0; i < count; ++i) difference.values_[i] = values_[i] - before.values_[i];
    return difference;
}

// Some drivers count damaged packets only in the counter of the specific error.
std::uint32_t LinkCounters::damaged() const {
    return std::max(values_[rx_errors], values_[rx_crc_errors]) +
           std::max(values_[tx_errors], values_[tx_carrier_errors]);
}

std::string LinkCounters::describe() const {
    std::string text;
    for (std::size_t i = rx_errors; i < count; ++i)
        if (values_[i])
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", values_[i], names[i]);
    return text;
}

std::map<std::string, LinkCounters> read_counters() {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0)
        throw std::system_error(errno, std::generic_category(),
                                "cannot read the counters of the network devices");
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> guard(first, &::freeifaddrs);
    std::map<std::string, LinkCounters> found;
    for (const ifaddrs* entry = first; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_PACKET || !entry->ifa_data)
            continue;
        const auto& stats = *static_cast<const rtnl_link_stats*>(entry->ifa_data);
        LinkCounters& counters = found[entry->ifa_name];
        counters.set(LinkCounters::rx_packets, stats.rx_packets);
        counters.set(LinkCounters::tx_packets, stats.tx_packets);
        counters.set(LinkCounters::rx_errors, stats.rx_errors);
        counters.set(LinkCounters::tx_errors, stats.tx_errors);
        counters.set(LinkCounters::rx_crc_errors, stats.rx_crc_errors);
        counters.set(LinkCounters::rx_dropped, stats.rx_dropped);
        counters.set(LinkCounters::tx_dropped, stats.tx_dropped);
        counters.set(LinkCounters::tx_carrier_errors, stats.tx_carrier_errors);
    }
    return found;
}

}  // namespace torusmp::base

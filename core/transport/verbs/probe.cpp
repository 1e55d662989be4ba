// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/verbs/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/address.h"
#include "base/units.h"
#include "config/geometry.h"
#include "core/transport/api/settings.h"
#include "core/transport/verbs/rdma.h"
#include "core/transport/verbs/settings.h"

namespace torusmp::transport::verbs {
namespace {

using config::CableEnd;
using config::describe_end;
using config::device_of;
using config::host_of;
using config::Settings;

std::vector<RdmaPort> ports_of(const config::HostFacts& facts) {
    const auto found = facts.offers.find("verbs");
    return found == facts.offers.end() ? std::vector<RdmaPort>() : parse_ports(found->second);
}

std::optional<RdmaPort> port_of(const Settings& settings, const CableEnd& end) {
    for (RdmaPort& port : ports_of(*end.facts))
        if (port.netdev == device_of(settings, end)) return std::move(port);
    return std::nullopt;
}

// The device's addresses, with their networks, that have a RoCE v2 GID: the one in the settings, or
// all.
std::vector<base::Address> gid_addresses(const Settings& settings, const CableEnd& end) {
    const config::Device* device = end.facts->find(device_of(settings, end));
    const auto port = port_of(settings, end);
    std::vector<base::Address> addresses;
    if (!device || !port) return addresses;
    for (const base::Address& address : device->addresses)
        for (const RdmaGid& gid : port->gids) {
            const base::Address own = gid.address();
            if (gid.roce_v2 && own.v6 == address.v6 && own.bytes == address.bytes &&
                (settings[setting::gid_index] < 0 || gid.index == settings[setting::gid_index]))
                addresses.push_back(address);
        }
    return addresses;
}

// The pair of addresses that the two ends of a cable can use: in one network, else link-local.
std::optional<std::pair<base::Address, base::Address>> common_pair(
    const std::vector<base::Address>& ours, const std::vector<base::Address>& theirs) {
    for (const bool link_local : {false, true})
        for (const base::Address& a : ours)
            for (const base::Address& b : theirs)
                if (a.v6 == b.v6 && a.bytes != b.bytes && a.link_local() == link_local &&
                    b.link_local() == link_local && (link_local || a.same_network(b)))
                    return std::pair(a, b);
    return std::nullopt;
}

std::string listed(const std::vector<base::Address>& addresses) {
    std::vector<std::string> words;
    for (const base::Address& address : addresses) words.push_back(address.with_prefix());
    return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::optional<Trouble> gid_trouble(const Settings& settings, const CableEnd& end,
                                   const RdmaPort& port) {
    if (!gid_addresses(settings, end).empty()) return std::nullopt;
    const std::string device =
        fmt::format("the RDMA device {} of {}", port.device, describe_end(settings, end));
    const std::string has = describe_gids(port);
    const int wanted = settings[setting::gid_index];
    const auto usable = [&](const RdmaGid& gid) {
        return gid.roce_v2 && (wanted < 0 || gid.index == wanted);
    };
    if (std::none_of(port.gids.begin(), port.gids.end(),
                     [](const RdmaGid& gid) { return gid.roce_v2; }))
        return Trouble{
            fmt::format("{} has no RoCE v2 GID", device),
            fmt::format("is its driver set to RoCE v1 only, or has {} no address?", port.netdev)};
    if (std::none_of(port.gids.begin(), port.gids.end(), usable))
        return Trouble{fmt::format("verbs.gid_index: found {}, but {} has the RoCE v2 GIDs {}",
                                   wanted, device, has),
                       "expected one of these, or auto for the one of the link's address"};
    return Trouble{fmt::format("the RoCE v2 GIDs of {} ({}), {}, are not among its addresses",
                               describe_end(settings, end), port.device, has),
                   fmt::format("give {} an IPv4 address, or enable IPv6 there", port.netdev)};
}

// "rxe0 (10.0.0.1, MTU 4096)"
std::string describe_port(const Settings& settings, const CableEnd& end,
                          const std::optional<base::Address>& address) {
    const RdmaPort port = *port_of(settings, end);
    return fmt::format("{} ({}, MTU {})", port.device,
                       address ? address->text() : listed(gid_addresses(settings, end)), port.mtu);
}

const char* const lock_remedy =
    "raise it in /etc/security/limits.conf (\"* - memlock unlimited\") and log in again, "
    "for services with LimitMEMLOCK=infinity; check with \"ulimit -l\" in a shell there";

bool locks_enough(const Settings& settings, const config::HostFacts& facts) {
    return !facts.lock_limit || *facts.lock_limit >= locked_memory_needed(settings);
}

}  // namespace

std::uint64_t locked_memory_needed(const Settings& settings) {
    constexpr std::uint64_t mib = 1 << 20, least = 64 * mib, for_messages = 16 * mib;
    constexpr std::uint64_t more_slots = 96;  // of a link: to send from, and spare ones
    const auto torus = node_torus(settings);
    std::uint64_t links = 0, virtual_channels = 0;
    for (int d = 0; torus && d < torus->dimensions(); ++d, ++virtual_channels)
        if (torus->extent(d) > 1) links += 2;
    if (links == 0) return least;
    const std::uint64_t slots =
        std::uint64_t(settings[transport::setting::tokens]) + more_slots +
        (virtual_channels - 1) * std::uint64_t(settings[transport::setting::relay_tokens]);
    const std::uint64_t bytes =
        links * slots * (settings[transport::setting::eager_limit] + 64) * links;
    return std::max(least, (bytes + for_messages + mib - 1) / mib * mib);
}

std::vector<std::string> RdmaProbe::offers(const std::vector<std::string>& devices) const {
    return format_ports(rdma_ports(devices));
}

void RdmaProbe::check(const std::vector<std::string>& offers) const {
    parse_ports(offers);
}

bool RdmaProbe::is_there(const Settings& settings, const CableEnd& end) const {
    return port_of(settings, end).has_value();
}

std::optional<Trouble> RdmaProbe::trouble(const Settings& settings, const CableEnd& end) const {
    const std::string name = device_of(settings, end), host = host_of(settings, end);
    if (name.empty())
        return Trouble{
            fmt::format("[links] has no device for link {} of {}",
                        config::direction_name(end.direction), host),
            fmt::format("add the device of \"{}\" there", config::direction_name(end.direction))};
    if (!end.facts->find(name)) return Trouble{fmt::format("{} has no device {}", host, name), ""};
    const auto port = port_of(settings, end);
    if (!port)
        return Trouble{
            fmt::format("{} has no RDMA device", describe_end(settings, end)),
            fmt::format("create one there with \"rdma link add rxe_{} type rxe netdev {}\", or "
                        "load the "
                        "RDMA driver of its card",
                        name, name)};
    const std::string device =
        fmt::format("the RDMA device {} of {}", port->device, describe_end(settings, end));
    if (!port->trouble.empty())
        return Trouble{fmt::format("{} cannot be used: {}", device, port->trouble), ""};
    if (!port->active)
        return Trouble{
            fmt::format("{} is {}, not ACTIVE", device, port->state),
            fmt::format("bring {} up with \"ip link set {} up\" and check its cable", name, name)};
    return gid_trouble(settings, end, *port);
}

std::optional<Trouble> RdmaProbe::trouble_between(const Settings& settings, const CableEnd& one,
                                                  const CableEnd& other) const {
    const auto ours = gid_addresses(settings, one), theirs = gid_addresses(settings, other);
    if (common_pair(ours, theirs)) return std::nullopt;
    return Trouble{
        fmt::format("the RoCE v2 GIDs of {} ({}) and {} ({}) are not in a common network",
                    describe_end(settings, one), listed(ours), describe_end(settings, other),
                    listed(theirs)),
        "give both ends IPv4 addresses of one network (torus-info netplan plans them), or enable "
        "IPv6 at both"};
}

std::optional<Trouble> RdmaProbe::trouble_forwarded(const Settings& settings,
                                                    const CableEnd& end) const {
    if (auto found = trouble(settings, end)) return found;
    const auto addresses = gid_addresses(settings, end);
    if (std::any_of(addresses.begin(), addresses.end(),
                    [](const base::Address& address) { return !address.link_local(); }))
        return std::nullopt;
    return Trouble{fmt::format("{} has no routable RoCE v2 GID (it has {})",
                               describe_end(settings, end), listed(addresses)),
                   "give it an IPv4 address (torus-info netplan plans them)"};
}

std::optional<Trouble> RdmaProbe::shortage(const Settings& settings, const CableEnd& end) const {
    if (locks_enough(settings, *end.facts)) return std::nullopt;
    return Trouble{fmt::format("{} lets a process lock {} of memory, and verbs needs {}",
                               host_of(settings, end), base::format_size(*end.facts->lock_limit),
                               base::format_size(locked_memory_needed(settings))),
                   lock_remedy};
}

std::string RdmaProbe::host_note(const Settings& settings, int node,
                                 const config::HostFacts& facts) const {
    if (ports_of(facts).empty() || locks_enough(settings, facts)) return {};
    return fmt::format(
        "host {} lets a process lock {} of memory, and each rank needs {} for verbs: {}",
        host_names(settings)[std::size_t(node)], base::format_size(*facts.lock_limit),
        base::format_size(locked_memory_needed(settings)), lock_remedy);
}

std::string RdmaProbe::reason(const Settings& settings, const CableEnd& one,
                              const CableEnd& other) const {
    if (!one.facts && !other.facts) return "if both ends have RDMA; no host was asked";
    if (!one.facts || !other.facts) {
        const CableEnd& asked = one.facts ? one : other;
        const CableEnd& unknown = one.facts ? other : one;
        return fmt::format("{}, if {} has RDMA too, which was not asked",
                           describe_port(settings, asked, std::nullopt),
                           describe_end(settings, unknown));
    }
    const auto pair = *common_pair(gid_addresses(settings, one), gid_addresses(settings, other));
    return fmt::format("{} and {}", describe_port(settings, one, pair.first),
                       describe_port(settings, other, pair.second));
}

std::string RdmaProbe::warning(const Settings& settings, const CableEnd& one,
                               const CableEnd& other) const {
    if (!one.facts || !other.facts) return {};
    const RdmaPort ours = *port_of(settings, one), theirs = *port_of(settings, other);
    if (ours.mtu == theirs.mtu) return {};
    return fmt::format(
        "{}: the RDMA MTU of {} ({}) is {}, that of {} ({}) {}: both use {}; expected the same: "
        "\"ip link set {} mtu ...\" at the lower end (4200 makes it 4096)",
        config::describe_link(settings, one, other), describe_end(settings, one), ours.device,
        ours.mtu, describe_end(settings, other), theirs.device, theirs.mtu,
        std::min(ours.mtu, theirs.mtu), device_of(settings, ours.mtu < theirs.mtu ? one : other));
}

}  // namespace torusmp::transport::verbs

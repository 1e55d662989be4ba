#include "config/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/address.h"
#include "base/units.h"
#include "config/geometry.h"
#include "core/settings.h"
#include "core/transport/common/settings.h"
#include "core/transport/verbs/settings.h"

namespace torusmp::config {

namespace {

std::string host_of(const Settings& settings, const CableEnd& end) {
    const auto& hosts = host_names(settings);
    if (std::size_t(end.node) < hosts.size()) return hosts[std::size_t(end.node)];
    return fmt::format("node {}", end.node);
}

std::string device_of(const Settings& settings, const CableEnd& end) {
    return link_device(settings, end.node, end.direction);
}

// "enp1s0f1 of qcd011"
std::string name_of(const Settings& settings, const CableEnd& end) {
    return fmt::format("{} of {}", device_of(settings, end), host_of(settings, end));
}

const RdmaPort* port_of(const Settings& settings, const CableEnd& end) {
    return end.facts->find_rdma(device_of(settings, end));
}

// The device's addresses, with their networks, that a RoCE v2 GID has: the wanted one, or all.
std::vector<base::Address> gid_addresses(const Settings& settings, const CableEnd& end) {
    const Device* device = end.facts->find(device_of(settings, end));
    const RdmaPort* port = port_of(settings, end);
    std::vector<base::Address> addresses;
    if (!device || !port) return addresses;
    for (const base::Address& address : device->addresses)
        for (const RdmaGid& gid : port->gids) {
            const base::Address own = gid.address();
            if (gid.roce_v2 && own.v6 == address.v6 && own.bytes == address.bytes &&
                (settings[transport::verbs::setting::gid_index] < 0 ||
                 gid.index == settings[transport::verbs::setting::gid_index]))
                addresses.push_back(address);
        }
    return addresses;
}

// Those over which the two ends of a cable can talk: of one network, else link-local ones.
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

std::optional<RdmaTrouble> gid_trouble(const Settings& settings, const CableEnd& end,
                                       const RdmaPort& port) {
    if (!gid_addresses(settings, end).empty()) return std::nullopt;
    const std::string device =
        fmt::format("the RDMA device {} of {}", port.device, name_of(settings, end));
    const std::string has = describe_gids(port);
    const int wanted = settings[transport::verbs::setting::gid_index];
    const auto usable = [&](const RdmaGid& gid) {
        return gid.roce_v2 && (wanted < 0 || gid.index == wanted);
    };
    if (std::none_of(port.gids.begin(), port.gids.end(),
                     [](const RdmaGid& gid) { return gid.roce_v2; }))
        return RdmaTrouble{
            fmt::format("{} has no RoCE v2 GID", device),
            fmt::format("is its driver set to RoCE v1 only, or has {} no address?", port.netdev)};
    if (std::none_of(port.gids.begin(), port.gids.end(), usable))
        return RdmaTrouble{fmt::format("verbs.gid_index: found {}, but {} has the RoCE v2 GIDs {}",
                                       wanted, device, has),
                           "expected one of these, or auto for the one of the link's address"};
    return RdmaTrouble{
        fmt::format("the RoCE v2 GIDs of {} ({}), {}, are none of its addresses",
                    name_of(settings, end), port.device, has),
        fmt::format("give {} an IPv4 address, or switch IPv6 on there", port.netdev)};
}

std::optional<RdmaTrouble> pair_trouble(const Settings& settings, const CableEnd& one,
                                        const CableEnd& other) {
    const auto ours = gid_addresses(settings, one), theirs = gid_addresses(settings, other);
    if (common_pair(ours, theirs)) return std::nullopt;
    return RdmaTrouble{
        fmt::format("the RoCE v2 GIDs of {} ({}) and {} ({}) are of no common network",
                    name_of(settings, one), listed(ours), name_of(settings, other), listed(theirs)),
        "give both ends IPv4 addresses of one network (torus-info netplan plans them), or switch "
        "IPv6 on at both"};
}

// What stands against verbs, and the first end's trouble first; nothing: both ends can.
std::optional<RdmaTrouble> trouble_between(const Settings& settings, const CableEnd& one,
                                           const CableEnd& other) {
    for (const CableEnd* end : {&one, &other})
        if (end->facts)
            if (auto trouble = rdma_trouble(settings, *end)) return trouble;
    if (!one.facts || !other.facts) return std::nullopt;
    return pair_trouble(settings, one, other);
}

// "rxe0 (10.0.0.1, MTU 4096)"
std::string describe_end(const Settings& settings, const CableEnd& end,
                         const std::optional<base::Address>& address) {
    const RdmaPort& port = *port_of(settings, end);
    return fmt::format("{} ({}, MTU {})", port.device,
                       address ? address->text() : listed(gid_addresses(settings, end)), port.mtu);
}

std::string why_verbs(const Settings& settings, const CableEnd& one, const CableEnd& other) {
    if (!one.facts && !other.facts) return "if both ends have RDMA; no host was asked";
    if (!one.facts || !other.facts) {
        const CableEnd& asked = one.facts ? one : other;
        const CableEnd& unknown = one.facts ? other : one;
        return fmt::format("{}, if {} has RDMA too, which was not asked",
                           describe_end(settings, asked, std::nullopt), name_of(settings, unknown));
    }
    const auto pair = *common_pair(gid_addresses(settings, one), gid_addresses(settings, other));
    return fmt::format("{} and {}", describe_end(settings, one, pair.first),
                       describe_end(settings, other, pair.second));
}

std::string mtu_warning(const Settings& settings, const CableEnd& one, const CableEnd& other) {
    if (!one.facts || !other.facts) return {};
    const RdmaPort &ours = *port_of(settings, one), &theirs = *port_of(settings, other);
    if (ours.mtu == theirs.mtu) return {};
    return fmt::format(
        "{}: the RDMA MTU of {} ({}) is {}, that of {} ({}) {}: both use {}; expected the same: "
        "\"ip link set {} mtu ...\" at the lower end (4200 makes it 4096)",
        describe_link(settings, one, other), name_of(settings, one), ours.device, ours.mtu,
        name_of(settings, other), theirs.device, theirs.mtu, std::min(ours.mtu, theirs.mtu),
        device_of(settings, ours.mtu < theirs.mtu ? one : other));
}

[[noreturn]] void refuse(const Settings& settings, const CableEnd& one, const CableEnd& other,
                         const char* asked, const std::string& found) {
    const std::string& where = settings.origin(transport::setting::use).where;
    throw ConfigError(fmt::format("{}: transport.use is {}{}, but {}",
                                  describe_link(settings, one, other), asked,
                                  where.empty() ? "" : fmt::format(" ({})", where), found));
}

// The cause why locked memory keeps `auto` from verbs; empty: it does not.
std::string lock_trouble(const Settings& settings, const CableEnd& one, const CableEnd& other) {
    for (const CableEnd* end : {&one, &other})
        if (end->facts && !locks_enough(settings, *end->facts))
            return fmt::format("{} lets a process lock {} of memory, and verbs needs {}",
                               host_of(settings, *end), base::format_size(*end->facts->lock_limit),
                               base::format_size(locked_memory_needed(settings)));
    return {};
}

}  // namespace

const char* name_of(Carrier carrier) {
    switch (carrier) {
        case Carrier::shm:
            return "shm";
        case Carrier::tcp:
            return "tcp";
        case Carrier::verbs:
            return "verbs";
    }
    return "?";
}

std::uint64_t locked_memory_needed(const Settings& settings) {
    constexpr std::uint64_t mib = 1 << 20, least = 64 * mib, for_messages = 16 * mib;
    constexpr std::uint64_t more_slots = 96;  // of a link: to send from, and spare ones
    const auto torus = node_torus(settings);
    std::uint64_t links = 0, classes = 0;
    for (int d = 0; torus && d < torus->dimensions(); ++d, ++classes)
        if (torus->extent(d) > 1) links += 2;
    if (links == 0) return least;
    const std::uint64_t slots =
        std::uint64_t(settings[core::setting::tokens]) + more_slots +
        (classes - 1) * std::uint64_t(settings[core::setting::relay_tokens]);
    const std::uint64_t bytes = links * slots * (settings[core::setting::eager_limit] + 64) * links;
    return std::max(least, (bytes + for_messages + mib - 1) / mib * mib);
}

bool locks_enough(const Settings& settings, const HostFacts& facts) {
    return !facts.lock_limit || *facts.lock_limit >= locked_memory_needed(settings);
}

std::string lock_remedy() {
    return "raise it in /etc/security/limits.conf (\"* - memlock unlimited\") and log in again, "
           "for services with LimitMEMLOCK=infinity; see with \"ulimit -l\" in a shell on it";
}

std::string describe_link(const Settings& settings, const CableEnd& one, const CableEnd& other) {
    const std::string ours = device_of(settings, one), theirs = device_of(settings, other);
    return fmt::format("link {} of {} to {} ({} to {})", direction_name(one.direction),
                       host_of(settings, one), host_of(settings, other),
                       ours.empty() ? "no device" : ours, theirs.empty() ? "no device" : theirs);
}

std::optional<RdmaTrouble> rdma_trouble(const Settings& settings, const CableEnd& end) {
    const std::string name = device_of(settings, end), host = host_of(settings, end);
    if (name.empty())
        return RdmaTrouble{
            fmt::format("[links] gives link {} of {} no device", direction_name(end.direction),
                        host),
            fmt::format("name the device of \"{}\" there", direction_name(end.direction))};
    if (!end.facts->find(name))
        return RdmaTrouble{fmt::format("{} has no device {}", host, name), ""};
    const RdmaPort* port = port_of(settings, end);
    if (!port)
        return RdmaTrouble{
            fmt::format("{} has no RDMA device", name_of(settings, end)),
            fmt::format("make one there, \"rdma link add rxe_{} type rxe netdev {}\", or load the "
                        "RDMA driver of its card",
                        name, name)};
    const std::string device =
        fmt::format("the RDMA device {} of {}", port->device, name_of(settings, end));
    if (!port->trouble.empty())
        return RdmaTrouble{fmt::format("{} cannot be used: {}", device, port->trouble), ""};
    if (!port->active)
        return RdmaTrouble{
            fmt::format("{} is {}, not ACTIVE", device, port->state),
            fmt::format("switch {} on, \"ip link set {} up\", and look at its cable", name, name)};
    return gid_trouble(settings, end, *port);
}

LinkChoice choose_link(const Settings& settings, CableEnd one, CableEnd other, bool one_host) {
    const auto order = [](const CableEnd& end) {
        return std::tuple(-end.direction.sign, end.direction.dimension, end.node);
    };
    if (order(other) < order(one)) std::swap(one, other);
    const std::string& use = settings[transport::setting::use];
    if (use == "tcp") return {Carrier::tcp, "transport.use is tcp", ""};
    if (one_host && use != "verbs") return {Carrier::shm, "both ends are on one host", ""};
    if (use == "shm")
        refuse(settings, one, other, "shm", "it joins two hosts: expected auto, tcp or verbs");
    if (const auto trouble = trouble_between(settings, one, other)) {
        if (use == transport::any_transport) return {Carrier::tcp, trouble->what, ""};
        refuse(settings, one, other, "verbs",
               fmt::format("{}{}{}; or set transport.use to auto", trouble->what,
                           trouble->remedy.empty() ? "" : ": ", trouble->remedy));
    }
    const std::string lock = lock_trouble(settings, one, other);
    if (!lock.empty() && use == transport::any_transport)
        return {Carrier::tcp, lock, fmt::format("{}: {}", lock, lock_remedy())};
    return {Carrier::verbs, why_verbs(settings, one, other), mtu_warning(settings, one, other)};
}

namespace {

// What stands against a queue pair whose packets are forwarded; nothing: it can be.
std::optional<RdmaTrouble> forwarding_trouble(const Settings& settings, const CableEnd& end) {
    if (!end.facts) return RdmaTrouble{fmt::format("{} told nothing", host_of(settings, end)), ""};
    if (auto trouble = rdma_trouble(settings, end)) return trouble;
    const auto addresses = gid_addresses(settings, end);
    if (std::any_of(addresses.begin(), addresses.end(),
                    [](const base::Address& address) { return !address.link_local(); }))
        return std::nullopt;
    return RdmaTrouble{fmt::format("{} has no RoCE v2 GID that can be routed to (it has {})",
                                   name_of(settings, end), listed(addresses)),
                       "give it an IPv4 address (torus-info netplan plans them)"};
}

}  // namespace

LinkChoice choose_forwarded(const Settings& settings, CableEnd one, CableEnd other) {
    if (other.node < one.node) std::swap(one, other);
    if (settings[transport::setting::use] == "tcp")
        return {Carrier::tcp, "transport.use is tcp", ""};
    for (const CableEnd* end : {&one, &other}) {
        const auto trouble = forwarding_trouble(settings, *end);
        if (!trouble) continue;
        if (settings[transport::setting::use] == transport::any_transport)
            return {Carrier::tcp, trouble->what, ""};
        throw ConfigError(
            fmt::format("routing.forward is kernel and transport.use is verbs, but between {} and "
                        "{} {}{}{}; or "
                        "set routing.forward to relay, or transport.use to auto",
                        host_of(settings, one), host_of(settings, other), trouble->what,
                        trouble->remedy.empty() ? "" : ": ", trouble->remedy));
    }
    const std::string lock = lock_trouble(settings, one, other);
    if (!lock.empty() && settings[transport::setting::use] == transport::any_transport)
        return {Carrier::tcp, lock, fmt::format("{}: {}", lock, lock_remedy())};
    return {Carrier::verbs,
            fmt::format("{} and {}, forwarded by the kernels between", name_of(settings, one),
                        name_of(settings, other)),
            ""};
}

std::string link_facts(const Settings& settings, int node) {
    return format_facts(facts_of_links(settings, node));
}

}  // namespace torusmp::config

// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/device_probe.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/in6.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace torusmp::check {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto patience = std::chrono::seconds(5);  // with a device that takes no packets
constexpr std::size_t most_far_ends = 4096;         // a device that has more is on no cable
constexpr int receive_buffer = 1 << 20;
constexpr int round_shift = 20;  // of the number of a round in that of a packet
static_assert(most_probes <= 1 << round_shift && most_rounds <= 1 << (31 - round_shift));

template <class Value>
void set_option(int socket, int level, int option, const Value& value) {
    // Where an option is refused the probes still go out; the report shows what is missing.
    (void)::setsockopt(socket, level, option, &value, sizeof value);
}

base::Descriptor open_socket(int family, const config::Device& device) {
    base::Descriptor socket = device_socket(family, SOCK_DGRAM, device.name);
    if (!socket) return socket;
    set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    set_option(socket.get(), SOL_SOCKET, SO_RCVBUF, receive_buffer);
    set_option(socket.get(), SOL_SOCKET, SO_RXQ_OVFL, 1);
    return socket;
}

base::Descriptor open_v6(const config::Device& device, int port) {
    base::Descriptor socket = open_socket(AF_INET6, device);
    if (!socket) return socket;
    set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
    set_option(socket.get(), IPPROTO_IPV6, IPV6_MULTICAST_IF, device.index);
    set_option(socket.get(), IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
    set_option(socket.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(std::uint16_t(port));
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) return {};
    return socket;
}

base::Descriptor open_v4(const config::Device& device, int port) {
    base::Descriptor socket = open_socket(AF_INET, device);
    if (!socket) return socket;
    set_option(socket.get(), SOL_SOCKET, SO_BROADCAST, 1);
    set_option(socket.get(), IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(std::uint16_t(port));
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) return {};
    return socket;
}

}  // namespace

base::Descriptor device_socket(int family, int type, const std::string& device) {
    base::Descriptor socket(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, device.c_str(),
                               socklen_t(device.size())) != 0)
        throw std::system_error(errno, std::generic_category(),
                                fmt::format("cannot bind a socket to {}", device));
    return socket;
}

DeviceProbe::DeviceProbe(const config::Device& device, const Job& job, bool sends)
    : device_(device), job_(job), sends_(sends) {
    v6_ = open_v6(device, job.port);
    v4_ = open_v4(device, job.port);
    by_v6_ = v6_ && device.ipv6_link_local();
    sent_.device = device.name;
    sent_.large_bytes = device.mtu;
    if (!v6_ && !v4_)
        sent_.trouble = fmt::format("no socket on port {}: {}", job.port, std::strerror(errno));
}

std::vector<int> DeviceProbe::sockets() const {
    std::vector<int> open;
    for (const base::Descriptor* socket : {&v6_, &v4_})
        if (*socket) open.push_back(socket->get());
    return open;
}

void DeviceProbe::begin(const Round& round) {
    round_ = round;
    const bool named =
        std::find(round.devices.begin(), round.devices.end(), device_.name) != round.devices.end();
    sending_ = round.all ? sends_ : named;
    next_ = sent_.small = sent_.large = 0;
    blocked_since_.reset();
    overflow_before_ = overflow_;
}

void DeviceProbe::send() {
    const bool large = next_ >= round_.small;
    const int sequence = round_.number << round_shift | next_;
    const ProbePacket packet = encode(job_.nonce, {job_.node, device_.name, sequence});
    std::vector<std::byte> bytes(large ? large_payload() : sizeof packet);
    std::memcpy(bytes.data(), &packet, sizeof packet);
    if (transmit(bytes) >= 0) {
        ++(large ? sent_.large : sent_.small);
        ++next_;
        blocked_since_.reset();
    } else if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) {
        if (!blocked_since_) blocked_since_ = Clock::now();
        if (Clock::now() - *blocked_since_ > patience)
            sent_.trouble = "the device takes no packets";
    } else {
        sent_.trouble = fmt::format("cannot send: {}", std::strerror(errno));
    }
}

void DeviceProbe::receive() {
    for (const base::Descriptor* socket : {&v6_, &v4_})
        while (*socket && receive_one(socket->get())) {
        }
}

void DeviceProbe::add_to(ProbeReport& report) const {
    if (sending_ || !sent_.trouble.empty()) report.sent.push_back(sent_);
    // A host that was too slow, counted where it does not send either.
    int overflow = 0;
    for (const auto& [socket, count] : overflow_) {
        const auto before = overflow_before_.find(socket);
        overflow += count - (before == overflow_before_.end() ? 0 : before->second);
    }
    if (overflow > 0 && (report.sent.empty() || report.sent.back().device != device_.name))
        report.sent.push_back({device_.name, 0, 0, device_.mtu, 0, ""});
    if (overflow > 0) report.sent.back().overflow = overflow;
    for (const auto& [end, rounds] : heard_) {
        const auto round = rounds.find(round_.number);
        if (round == rounds.end()) continue;
        const auto limit = round->second.lower_bound(round_.small);
        report.heard.push_back({device_.name, end.first, end.second,
                                int(std::distance(round->second.begin(), limit)),
                                int(std::distance(limit, round->second.end()))});
    }
}

std::optional<sockaddr_storage> DeviceProbe::address_of(int node, const std::string& device) const {
    const auto found = addresses_.find({node, device});
    if (found == addresses_.end()) return std::nullopt;
    return found->second;
}

std::size_t DeviceProbe::large_payload() const {
    const int headers = by_v6_ ? 40 + 8 : 20 + 8;
    return std::max(sizeof(ProbePacket), std::size_t(std::max(0, device_.mtu - headers)));
}

ssize_t DeviceProbe::transmit(std::span<const std::byte> bytes) const {
    if (by_v6_) {
        sockaddr_in6 all{};
        all.sin6_family = AF_INET6;
        all.sin6_port = htons(std::uint16_t(job_.port));
        all.sin6_scope_id = std::uint32_t(device_.index);
        ::inet_pton(AF_INET6, "ff02::1", &all.sin6_addr);
        return ::sendto(v6_.get(), bytes.data(), bytes.size(), 0,
                        reinterpret_cast<const sockaddr*>(&all), sizeof all);
    }
    sockaddr_in all{};
    all.sin_family = AF_INET;
    all.sin_port = htons(std::uint16_t(job_.port));
    all.sin_addr.s_addr = htonl(INADDR_BROADCAST);
    return ::sendto(v4_.get(), bytes.data(), bytes.size(), 0,
                    reinterpret_cast<const sockaddr*>(&all), sizeof all);
}

bool DeviceProbe::receive_one(int socket) {
    std::byte bytes[sizeof(ProbePacket)];
    alignas(cmsghdr) char control[64];
    iovec part{bytes, sizeof bytes};
    sockaddr_storage from{};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT);
    if (got < 0) return errno == EINTR;
    note_overflow(socket, message);
    if (const auto identity = decode({bytes, std::size_t(got)}, job_.nonce, job_.nodes))
        note(*identity, from);
    return true;
}

void DeviceProbe::note_overflow(int socket, msghdr& message) {
    for (cmsghdr* at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at))
        if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SO_RXQ_OVFL)
            std::memcpy(&overflow_[socket], CMSG_DATA(at), sizeof(std::uint32_t));
}

void DeviceProbe::note(const Identity& identity, const sockaddr_storage& from) {
    // A broadcast comes back to its own device.
    if (identity.node == job_.node && identity.device == device_.name) return;
    const FarEnd end{identity.node, identity.device};
    if (heard_.size() >= most_far_ends && !heard_.count(end)) return;
    heard_[end][identity.sequence >> round_shift].insert(identity.sequence &
                                                         ((1 << round_shift) - 1));
    addresses_.try_emplace(end, from);
}

}  // namespace torusmp::check

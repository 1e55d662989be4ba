// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/device_probe.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace torusmp::torus_check {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto patience = std::chrono::seconds(5);  // for a device that does not accept packets
constexpr std::size_t most_far_ends = 4096;         // a device with more is not on a cable
constexpr int round_shift = 20;                     // of the round in a packet's number
static_assert(most_probes <= 1 << round_shift && most_rounds <= 1 << (31 - round_shift));

}  // namespace

DeviceProbe::DeviceProbe(const config::Device& device, const Job& job, bool sends)
    : device_(device), job_(job), sends_(sends) {
    v6_ = torus_run::probe_socket(AF_INET6, device.name, device.index, job.port);
    v4_ = torus_run::probe_socket(AF_INET, device.name, device.index, job.port);
    by_v6_ = v6_ && device.ipv6_link_local();
    sent_.device = device.name;
    sent_.large_bytes = device.mtu;
    if (!v6_ && !v4_)
        sent_.trouble =
            fmt::format("cannot open a socket on port {}: {}", job.port, std::strerror(errno));
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
            sent_.trouble = "the device does not accept packets";
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
    // Packets that the host was too slow to receive; also counted on devices that do not send.
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
    return torus_run::send_probe(by_v6_ ? v6_.get() : v4_.get(), by_v6_ ? AF_INET6 : AF_INET,
                                 device_.index, job_.port, bytes);
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

}  // namespace torusmp::torus_check

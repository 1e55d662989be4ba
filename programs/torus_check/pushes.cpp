// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/pushes.h"

#include <endian.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "programs/torus_check/device_probe.h"

namespace torusmp::torus_check {

namespace {

constexpr std::size_t chunk = 64 * 1024;
constexpr int chunks_a_turn = 8;    // so that a fast cable does not delay the others
constexpr int unsent = 128 * 1024;  // bytes that may wait in the kernel
constexpr std::size_t most_incoming = 256;
// A cable that has not carried all bytes by then is measured by the bytes that it carried.
constexpr auto transfer_patience = std::chrono::milliseconds(1500);

// An address of any family, with the port of the job.
void set_port(sockaddr_storage& address, int port) {
    if (address.ss_family == AF_INET6)
        reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(std::uint16_t(port));
    else
        reinterpret_cast<sockaddr_in&>(address).sin_port = htons(std::uint16_t(port));
}

tcp_info ask_tcp(int socket) {
    tcp_info info{};
    socklen_t length = sizeof info;
    (void)::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length);
    return info;
}

base::Descriptor open_listener(int family, const std::string& device, int port) {
    base::Descriptor socket = device_socket(family, SOCK_STREAM, device);
    if (!socket) return socket;
    const int on = 1;
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6)
        (void)::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    sockaddr_storage any{};
    any.ss_family = sa_family_t(family);
    set_port(any, port);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any),
               family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in)) != 0 ||
        ::listen(socket.get(), 16) != 0)
        return {};
    return socket;
}

}  // namespace

Pushes::Pushes(torus_run::Loop& loop, const Job& job, Done done)
    : loop_(loop), job_(job), done_(std::move(done)) {}

Pushes::~Pushes() {
    for (const base::Descriptor& socket : listeners_) loop_.forget(socket.get());
    for (const Outgoing& to : outgoing_)
        if (to.socket) loop_.forget(to.socket.get());
    for (const Incoming& from : incoming_)
        if (from.socket) loop_.forget(from.socket.get());
}

// ---- The far end ----

void Pushes::listen(const std::string& device) {
    for (const int family : {AF_INET6, AF_INET}) {
        base::Descriptor socket = open_listener(family, device, job_.port);
        if (!socket) continue;
        const int fd = socket.get();
        loop_.watch(fd, EPOLLIN, [this, fd, device](auto) { accept(fd, device); });
        listeners_.push_back(std::move(socket));
    }
}

void Pushes::accept(int listener, const std::string& device) {
    base::Descriptor socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket || incoming_.size() >= most_incoming) return;
    const int fd = socket.get();
    Incoming& from = incoming_.emplace_back();
    from.socket = std::move(socket);
    from.device = device;
    loop_.watch(fd, EPOLLIN, [this, &from](auto) { take(from); });
}

// The first bytes prove that the sender belongs to this job; the others are only counted.
void Pushes::take(Incoming& from) {
    const int fd = from.socket.get();
    while (from.hello.size() < sizeof(ProbePacket)) {
        std::byte bytes[sizeof(ProbePacket)];
        const ssize_t got = ::recv(fd, bytes, sizeof bytes - from.hello.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) return end(from);
        from.hello.insert(from.hello.end(), bytes, bytes + got);
        if (from.hello.size() == sizeof(ProbePacket) && !decode(from.hello, job_.nonce, job_.nodes))
            return end(from);
    }
    for (int turn = 0; turn < chunks_a_turn; ++turn) {
        const ssize_t got = ::recv(fd, nullptr, 4 * chunk, MSG_TRUNC);  // discarded
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got < 0) return end(from);
        from.taken += std::uint64_t(got);
        if (got > 0) continue;
        const std::uint64_t confirmation = htobe64(from.taken);
        (void)::send(fd, &confirmation, sizeof confirmation, MSG_NOSIGNAL);
        return end(from);
    }
}

void Pushes::end(Incoming& from) {
    loop_.forget(from.socket.get());
    from.socket.reset();
    from.over = true;
}

// ---- The sender ----

void Pushes::start(const Push& push, sockaddr_storage far) {
    Outgoing& to = outgoing_.emplace_back();
    to.push = push;
    to.started = Clock::now();
    set_port(far, job_.port);
    to.socket = device_socket(far.ss_family, SOCK_STREAM, push.device);
    if (!to.socket)
        return end(to, 0, fmt::format("cannot open a socket: {}", std::strerror(errno)));
    const int fd = to.socket.get();
    const int on = 1;
    (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
    const socklen_t length = far.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&far), length) != 0 && errno != EINPROGRESS)
        return end(to, 0, fmt::format("cannot connect: {}", std::strerror(errno)));
    loop_.watch(fd, EPOLLOUT, [this, &to](auto) { give(to); });
}

void Pushes::give(Outgoing& to) {
    if (to.over) return;
    if (to.finished) return hear_confirmation(to);
    if (!to.connected && !say_hello(to)) return;
    fill(to);
}

bool Pushes::say_hello(Outgoing& to) {
    const int fd = to.socket.get();
    int error = 0;
    socklen_t length = sizeof error;
    (void)::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) {
        end(to, 0, fmt::format("cannot connect: {}", std::strerror(error)));
        return false;
    }
    const ProbePacket hello = encode(job_.nonce, {job_.node, to.push.device, to.push.id});
    if (::send(fd, &hello, sizeof hello, MSG_NOSIGNAL) != ssize_t(sizeof hello)) {
        end(to, 0, fmt::format("the connection broke: {}", std::strerror(errno)));
        return false;
    }
    to.connected = true;
    to.first_byte = Clock::now();
    return true;
}

void Pushes::fill(Outgoing& to) {
    static const std::vector<std::byte> zeros(chunk);
    const int fd = to.socket.get();
    for (int turn = 0; turn < chunks_a_turn; ++turn) {
        const auto elapsed = Clock::now() - to.first_byte;
        if (to.sent >= to.push.bytes || (to.sent >= to.push.least && elapsed >= to.push.time)) {
            to.finished = true;
            (void)::shutdown(fd, SHUT_WR);
            loop_.change(fd, EPOLLIN);
            return;
        }
        const ssize_t put =
            ::send(fd, zeros.data(), std::min<std::uint64_t>(chunk, to.push.bytes - to.sent),
                   MSG_NOSIGNAL);
        if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (put < 0)
            return end(to, 0, fmt::format("the connection broke: {}", std::strerror(errno)));
        to.sent += std::uint64_t(put);
    }
}

void Pushes::hear_confirmation(Outgoing& to) {
    std::uint64_t confirmation = 0;
    const ssize_t got = ::recv(to.socket.get(), &confirmation, sizeof confirmation, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got == ssize_t(sizeof confirmation) && be64toh(confirmation) == to.sent)
        return end(to, to.sent, "");
    end(to, 0, "the other end closed the connection");
}

void Pushes::tick() {
    const auto now = Clock::now();
    for (Outgoing& to : outgoing_) {
        if (to.over || now - to.started < transfer_patience + to.push.time) continue;
        const std::uint64_t acked = to.connected ? ask_tcp(to.socket.get()).tcpi_bytes_acked : 0;
        end(to, acked,
            acked > 0      ? ""
            : to.connected ? "no data was acknowledged"
                           : "cannot connect: no answer");
    }
    outgoing_.remove_if([](const Outgoing& to) { return to.over; });
    incoming_.remove_if([](const Incoming& from) { return from.over; });
}

void Pushes::end(Outgoing& to, std::uint64_t confirmed, const std::string& trouble) {
    using std::chrono::microseconds;
    Pushed pushed;
    pushed.id = to.push.id;
    pushed.trouble = trouble;
    if (to.socket && trouble.empty()) {
        const tcp_info info = ask_tcp(to.socket.get());
        pushed.bytes = confirmed;
        pushed.time =
            std::max(microseconds(1),
                     std::chrono::duration_cast<microseconds>(Clock::now() - to.first_byte));
        pushed.round_trip = microseconds(info.tcpi_min_rtt == ~0u ? 0 : info.tcpi_min_rtt);
        pushed.segments = int(info.tcpi_segs_out);
        // Spurious retransmissions, which the other end received twice, are not counted.
        pushed.again = std::max(0, int(info.tcpi_total_retrans) - int(info.tcpi_dsack_dups));
    }
    if (to.socket) loop_.forget(to.socket.get());
    to.socket.reset();
    to.over = true;
    done_(pushed);
}

}  // namespace torusmp::torus_check

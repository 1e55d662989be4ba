// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/raw_socket.h"

#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "base/address.h"
#include "bench/torus_bench/below.h"
#include "bench/torus_bench/qmp_objects.h"
#include "config/geometry.h"
#include "config/network.h"
#include "config/options.h"
#include "core/settings.h"
#include "core/transport/tcp/settings.h"

namespace torusmp::bench {
namespace {

using routing::Direction;
using Clock = std::chrono::steady_clock;
using Nonce = std::array<std::byte, 16>;

constexpr core::Tag first_tag = 16;  // and one for each dimension
constexpr auto connect_timeout = std::chrono::seconds(20);

// A device of this host and the address of its link, as a socket address.
struct Place {
    std::string device;
    int index = 0;
    sockaddr_storage address{};
    socklen_t length = 0;
};

// The address of a listener and the expected greeting, because other programs may find its port.
struct Invitation {
    base::Address address;
    std::uint16_t port = 0;  // network order
    Nonce nonce{};
};
static_assert(std::is_trivially_copyable_v<Invitation>);

[[noreturn]] void refuse(const Place& place, std::string_view what) {
    throw std::runtime_error(
        fmt::format("--raw: device {}: {}: {}", place.device, what, std::strerror(errno)));
}

void fill(Place& place, const base::Address& address, std::uint16_t port) {
    place.address = {};
    if (address.v6) {
        auto& to = reinterpret_cast<sockaddr_in6&>(place.address);
        to.sin6_family = AF_INET6;
        to.sin6_port = port;
        std::memcpy(&to.sin6_addr, address.bytes.data(), 16);
        if (address.link_local()) to.sin6_scope_id = unsigned(place.index);
        place.length = sizeof to;
    } else {
        auto& to = reinterpret_cast<sockaddr_in&>(place.address);
        to.sin_family = AF_INET;
        to.sin_port = port;
        std::memcpy(&to.sin_addr, address.bytes.data(), 4);
        place.length = sizeof to;
    }
}

struct Local {
    Place place;
    base::Address address;
};

std::string device_of(const Context& context, int rank, Direction direction) {
    const config::Settings& s = settings();
    const auto other = context.torus.neighbour(rank, direction);
    const bool leaves =
        other && !s[config::setting::dims].empty() && node_of(s, rank) != node_of(s, *other);
    return leaves ? config::link_device(s, node_of(s, rank), direction) : "";
}

// Without names of hosts, all ranks are on this host and use loopback.
Local loopback_end() {
    return {{"lo", int(if_nametoindex("lo")), {}, 0}, *base::parse_address("127.0.0.1")};
}

Local local_end(const Context& context, const config::HostFacts& facts, Direction direction) {
    if (raw_over_loopback()) return loopback_end();
    const std::string device = device_of(context, rank(), direction);
    const config::Device* found = facts.find(device);
    const base::Address* address = found == nullptr ? nullptr
                                   : found->ipv4()  ? found->ipv4()
                                                    : found->ipv6_link_local();
    if (address == nullptr)
        throw std::runtime_error(
            fmt::format("--raw: rank {}: {} {}", rank(), device,
                        found == nullptr ? "is not a device of this host" : "has no address"));
    return {{device, found->index, {}, 0}, *address};
}

// Binds to the device and its address, like the links of the library.
base::Descriptor open_socket(Local& local) {
    fill(local.place, local.address, 0);
    base::Descriptor socket(::socket(local.place.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) refuse(local.place, "cannot open a socket");
    const int on = 1;
    const int buffer = int(settings()[transport::tcp::setting::socket_buffer]);
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    if (setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, local.place.device.c_str(),
                   socklen_t(local.place.device.size())) != 0)
        refuse(local.place, "cannot bind to it");
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&local.place.address),
             local.place.length) != 0)
        refuse(local.place, "cannot bind to its address " + local.address.text());
    return socket;
}

struct Listener {
    Local local;
    base::Descriptor socket;
    Invitation invitation;
};

Listener listen_at(Local local) {
    Listener listener{std::move(local), {}, {}};
    Place& place = listener.local.place;
    listener.socket = open_socket(listener.local);
    if (listen(listener.socket.get(), 8) != 0) refuse(place, "cannot listen");
    socklen_t length = sizeof place.address;
    getsockname(listener.socket.get(), reinterpret_cast<sockaddr*>(&place.address), &length);
    listener.invitation.address = listener.local.address;
    listener.invitation.port = place.address.ss_family == AF_INET6
                                   ? reinterpret_cast<sockaddr_in6&>(place.address).sin6_port
                                   : reinterpret_cast<sockaddr_in&>(place.address).sin_port;
    if (getrandom(listener.invitation.nonce.data(), sizeof(Nonce), 0) != ssize_t(sizeof(Nonce)))
        refuse(place, "cannot get random numbers");
    return listener;
}

base::Descriptor call(Local local, const Invitation& invitation) {
    base::Descriptor socket = open_socket(local);
    Place to = local.place;
    fill(to, invitation.address, invitation.port);
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.address), to.length) != 0)
        refuse(to, "cannot connect to " + invitation.address.text());
    if (send(socket.get(), invitation.nonce.data(), sizeof(Nonce), MSG_NOSIGNAL) !=
        ssize_t(sizeof(Nonce)))
        refuse(to, "cannot greet " + invitation.address.text());
    return socket;
}

// Whether the peer sent the expected greeting.
bool greets(int socket, const Nonce& nonce) {
    const timeval soon{2, 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    Nonce heard{};
    return recv(socket, heard.data(), sizeof heard, MSG_WAITALL) == ssize_t(sizeof heard) &&
           heard == nonce;
}

// Progress of the Runtime continues, because our invitation may still be in transit.
base::Descriptor answer(const Listener& listener) {
    const auto deadline = Clock::now() + connect_timeout;
    while (Clock::now() < deadline) {
        runtime().progress();
        pollfd wanted{listener.socket.get(), POLLIN, 0};
        if (poll(&wanted, 1, 1) <= 0) continue;
        base::Descriptor socket(accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
        const int on = 1;
        if (!socket || !greets(socket.get(), listener.invitation.nonce)) continue;
        setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return socket;
    }
    errno = ETIMEDOUT;
    refuse(listener.local.place, "the neighbour did not connect");
}

}  // namespace

void RawSocket::start_send(const std::byte* data, std::size_t bytes, int count) {
    out_ = {const_cast<std::byte*>(data), bytes * std::size_t(count), bytes, bytes};
}

void RawSocket::start_receive(std::byte* data, std::size_t bytes, int count) {
    in_ = {data, bytes * std::size_t(count), bytes, bytes};
}

void RawSocket::advance(Way& way, std::size_t moved) {
    way.at += moved;
    way.left -= moved;
    way.current -= moved;
    if (way.current == 0) way.current = way.bytes;
}

bool RawSocket::move() {
    bool moved = false;
    const auto step = [&](Way& way, ssize_t result) {
        if (result > 0) {
            advance(way, std::size_t(result));
            moved = true;
        } else if (result == 0 || (errno != EAGAIN && errno != EINTR)) {
            throw std::runtime_error(
                fmt::format("--raw: the connection broke: {}",
                            result == 0 ? "the other end closed it" : std::strerror(errno)));
        }
    };
    if (out_.left != 0)
        step(out_, send(socket_.get(), out_.at, out_.current, MSG_DONTWAIT | MSG_NOSIGNAL));
    if (in_.left != 0) step(in_, recv(socket_.get(), in_.at, in_.current, MSG_DONTWAIT));
    return moved;
}

namespace {

void sleep_until_one_can_move(std::span<const RawSocket> sockets) {
    std::array<pollfd, 2 * routing::max_dimensions> wanted;
    nfds_t count = 0;
    for (const RawSocket& socket : sockets)
        if (!socket.done() && count < wanted.size())
            wanted[count++] = {
                socket.descriptor(),
                short((socket.sends() ? POLLOUT : 0) | (socket.receives() ? POLLIN : 0)), 0};
    poll(wanted.data(), count, 1000);
}

}  // namespace

void finish(std::span<RawSocket> sockets, std::chrono::nanoseconds spin) {
    Clock::time_point idle_since{};
    for (;;) {
        bool moved = false, done = true;
        for (RawSocket& socket : sockets) {
            if (!socket.done()) moved = socket.move() || moved;
            done = done && socket.done();
        }
        if (done) return;
        if (moved) {
            idle_since = {};
            continue;
        }
        const auto now = Clock::now();
        if (idle_since == Clock::time_point{}) idle_since = now;
        if (now - idle_since >= spin) sleep_until_one_can_move(sockets);
    }
}

bool raw_over_loopback() {
    return config::host_names(settings()).empty();
}

void require_device(const Context& context, int rank, Direction direction) {
    if (raw_over_loopback() || !device_of(context, rank, direction).empty()) return;
    throw config::UsageError(fmt::format(
        "--raw: link {} of rank {} has no device: a bare socket requires links between hosts, or "
        "all ranks on one host; omit --raw, or add devices to [links] in the geometry file",
        config::direction_name(direction), rank));
}

std::vector<RawSocket> open_raw_links(const Context& context, const std::vector<Direction>& links) {
    const config::HostFacts facts = config::this_host();
    std::vector<Listener> listeners;
    for (const Direction& link : links)
        if (link.sign < 0) listeners.push_back(listen_at(local_end(context, facts, link)));
    std::size_t next = 0;
    for (const Direction& link : links)
        if (link.sign < 0)
            send_bytes(*context.torus.neighbour(rank(), link), first_tag + link.dimension,
                       std::as_bytes(std::span(&listeners[next++].invitation, 1)));
    std::vector<RawSocket> sockets;
    next = 0;
    for (const Direction& link : links) {
        if (link.sign < 0) {
            sockets.emplace_back(base::Descriptor());  // answered below
            continue;
        }
        const auto bytes = receive_bytes(*context.torus.neighbour(rank(), link),
                                         first_tag + link.dimension, sizeof(Invitation));
        Invitation invitation;
        std::memcpy(static_cast<void*>(&invitation), bytes.data(), sizeof invitation);
        sockets.emplace_back(call(local_end(context, facts, link), invitation));
    }
    for (std::size_t i = 0; i < links.size(); ++i)
        if (links[i].sign < 0) sockets[i] = RawSocket(answer(listeners[next++]));
    return sockets;
}

std::vector<Direction> link_of(const Context& context, const Pair& pair) {
    if (pair.hops != 1)
        throw config::UsageError(fmt::format(
            "--raw: ranks 0 and {} are not neighbours: a bare socket requires a link between them",
            pair.partner));
    const Direction direction = context.torus.next_hop(0, pair.partner)->direction;
    require_device(context, 0, direction);
    require_device(context, pair.partner, direction.opposite());
    if (pair.role < 0) return {};
    return {pair.role == 0 ? direction : direction.opposite()};
}

std::chrono::nanoseconds spin_time() {
    const core::Options& options = runtime().options();
    return options.oversubscribed ? std::chrono::nanoseconds(0)
                                  : options.value(core::setting::spin);
}

std::function<void(long)> raw_round_trips(const Pair& pair, std::span<RawSocket> sockets,
                                          const std::byte* out, std::byte* in, std::size_t bytes) {
    if (pair.role < 0) return [](long) {};
    const bool serves = pair.role == 0;
    bytes = std::max<std::size_t>(bytes, 1);  // a stream cannot carry an empty message
    return [=, spin = spin_time()](long times) {
        for (long i = 0; i < times; ++i)
            for (const bool sending : {serves, !serves}) {
                if (sending)
                    sockets[0].start_send(out, bytes);
                else
                    sockets[0].start_receive(in, bytes);
                finish(sockets, spin);
            }
    };
}

}  // namespace torusmp::bench

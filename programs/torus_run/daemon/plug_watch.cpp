// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/plug_watch.h"

#include <fmt/format.h>
#include <net/if.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <system_error>

#include "config/geometry.h"
#include "config/network.h"
#include "core/transport/common/secret.h"

namespace torusmp::torus_run {
namespace {

using std::chrono::milliseconds;

// Daemons of different hosts start their ranks at about the same time.
constexpr milliseconds between_probes(20);
constexpr milliseconds between_late_probes(500);
constexpr milliseconds early(1000);
constexpr std::chrono::seconds longest_watch(60);
// On a switch or bridge, the right end may be heard after wrong ones. There are several of these,
// unlike on a cable.
constexpr milliseconds time_for_the_right_one(200);

// Whether a device may be a cable of the torus: not if it has an address in a network of more than
// two hosts, or in the network of an IPv6 prefix, as the one by which hosts are administered. All hosts
// hear each other there.
bool may_be_cable(const config::Device& device) {
    constexpr int of_two_hosts = 30;
    return std::none_of(device.addresses.begin(), device.addresses.end(),
                        [](const base::Address& address) {
                            if (address.v6) return !address.link_local() && address.prefix < 126;
                            return address.prefix < of_two_hosts;
                        });
}

// Both ends derive it, and it does not reveal the secret.
Nonce nonce_of(std::span<const std::byte> secret) {
    const auto key = transport::derive_secret(secret);
    const std::string_view purpose = "which host is at the other end of a cable";
    const transport::Proof proof = transport::prove(key, std::as_bytes(std::span(purpose)));
    Nonce nonce;
    std::transform(proof.begin(), proof.begin() + nonce.size(), nonce.begin(),
                   [](std::byte byte) { return std::uint8_t(byte); });
    return nonce;
}

}  // namespace

PlugWatch::PlugWatch(Loop& loop, const config::Settings& settings, int node,
                     std::span<const std::byte> secret)
    : loop_(loop), node_(node) {
    const auto torus = node_torus(settings);
    if (node < 0 || !torus || torus->size() == 1) return;
    nodes_ = torus->size();
    nonce_ = nonce_of(secret);
    const config::HostFacts facts = config::facts_of_links(settings, node);
    for (int way = 0; way < 2 * torus->link_dimensions(); ++way) {
        const auto direction = routing::Direction::from_index(way);
        const auto peer = torus->neighbour(node, direction);
        const std::string device = config::link_device(settings, node, direction);
        if (!peer || device.empty()) continue;
        if (const config::Device* const found = facts.find(device))
            add(*found, {*peer, config::link_device(settings, *peer, direction.opposite())});
        else
            ++missing_;
    }
    if (missing_ > 0) add_spares(config::this_host());
}

void PlugWatch::add(const config::Device& device, const config::Plug& expected) {
    if (!device.carrier) return;
    Link& link = links_.emplace_back();
    link.device = device.name;
    link.index = device.index;
    link.expected = expected;
    try {
        link.sockets[0] = probe_socket(AF_INET6, device.name, link.index, probe_port(nonce_));
        link.sockets[1] = probe_socket(AF_INET, device.name, link.index, probe_port(nonce_));
    } catch (const std::system_error&) {
        return void(links_.pop_back());
    }
    for (const base::Descriptor& socket : link.sockets)
        if (socket) loop_.watch(socket.get(), EPOLLIN, [this, &link](auto) { receive(link); });
    next_ = began_;
}

void PlugWatch::add_spares(const config::HostFacts& facts) {
    for (const config::Device& device : facts.devices) {
        const bool known = std::any_of(links_.begin(), links_.end(), [&](const Link& link) {
            return link.device == device.name;
        });
        if (known || device.loopback || !device.carrier || !may_be_cable(device)) continue;
        const std::size_t before = links_.size();
        add(device, {-1, {}});
        if (links_.size() > before) links_.back().spare = true;
    }
}

bool PlugWatch::complete() const {
    int found = 0;
    for (const Link& link : links_) {
        if (link.spare)
            found += link.reported;
        else if (!link.done() && !link.reported)
            return false;
    }
    return found >= missing_;
}

PlugWatch::~PlugWatch() {
    for (Link& link : links_) close(link);
}

std::optional<PlugWatch::Clock::time_point> PlugWatch::next() const {
    return next_;
}

void PlugWatch::look(Clock::time_point now, std::vector<LinkTrouble>& news) {
    for (Link& link : links_)
        if (link.stranger && !link.shared && !link.heard && !link.reported &&
            now >= link.stranger_at + time_for_the_right_one) {
            link.reported = true;
            news.push_back({LinkTrouble::Kind::elsewhere, link.device,
                            fmt::format("{} {}", link.stranger->node, link.stranger->device)});
        }
    if (!next_ || now < *next_) return;
    const bool late = now > began_ + early;
    next_.reset();
    for (Link& link : links_) {
        if (link.done() || now > began_ + longest_watch) {
            close(link);
            continue;
        }
        if (!link.sockets[0] && !link.sockets[1]) continue;
        send(link);
        next_ = now + (late ? between_late_probes : between_probes);
    }
}

void PlugWatch::send(Link& link) {
    const ProbePacket packet = encode(nonce_, {node_, link.device, link.heard ? 1 : 0});
    const auto bytes = std::as_bytes(std::span(&packet, 1));
    const int families[] = {AF_INET6, AF_INET};
    // Use the other family if the device has no address of one.
    for (std::size_t i = 0; i < link.sockets.size(); ++i)
        if (link.sockets[i] && send_probe(link.sockets[i].get(), families[i], link.index,
                                          probe_port(nonce_), bytes) >= 0) {
            link.has_confirmed |= link.heard;
            return;
        }
}

void PlugWatch::receive(Link& link) {
    for (const base::Descriptor& socket : link.sockets) {
        std::array<std::byte, sizeof(ProbePacket)> bytes;
        while (socket) {
            const ssize_t got = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
            if (got < 0) break;
            if (const auto said = decode(std::span(bytes).first(std::size_t(got)), nonce_, nodes_))
                take(link, *said);
        }
    }
}

void PlugWatch::take(Link& link, const Identity& said) {
    if (said.node == node_ && said.device == link.device) return;  // a broadcast that came back
    const config::Plug far{said.node, said.device};
    if (far != link.expected) {
        if (link.stranger)
            link.shared |= *link.stranger != far;
        else
            link.stranger_at = Clock::now();
        link.stranger = far;
        return;
    }
    link.heard = true;
    link.is_heard |= said.sequence != 0;
    if (!link.has_confirmed) send(link);
}

void PlugWatch::close(Link& link) {
    for (base::Descriptor& socket : link.sockets) {
        if (!socket) continue;
        loop_.forget(socket.get());
        socket.reset();
    }
}

}  // namespace torusmp::torus_run

// SPDX-License-Identifier: BSD-3-Clause
#include "core/connection/connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/assert.h"
#include "base/trace.h"
#include "core/link/frames.h"
#include "routing/ways.h"

namespace torusmp::core {
namespace {

// Direct peers that are not neighbours get fewer slots, because there may be many of them.
constexpr int most_far_credits = 16;

}  // namespace

Connections::Connections(Commons& commons, const InterfaceFactory& make_interface,
                         std::vector<LinkTransport> link_transports)
    : commons_(commons), options_(commons.options), link_transports_(std::move(link_transports)) {
    loopback_ = std::make_unique<Loopback>(options_.credits);
    peers_.resize(std::size_t(options_.torus.size()));
    for (Peer& peer : peers_) peer.holds_from = options_.first_large();
    for (Rank rank = 0; rank < size(); ++rank) peer(rank).rank = rank;
    local_.resize(peers_.size());
    for (const Rank rank : options_.direct) local_[std::size_t(rank)] = true;

    Connection& self = add(options_.rank, std::nullopt);
    self.channel = loopback_.get();
    Credits credits;
    credits.add(0, options_.credits, std::max(1, options_.credits / 2));
    credits.return_with_packets();
    self.come_up(credits);
    loopback_->owner = &self;
    Peer& own = peer(options_.rank);
    own.via = own.quick = own.comes_by = &self;

    open_interfaces(make_interface);
}

void Connections::open_interfaces(const InterfaceFactory& make_interface) {
    if (1 + link_transports_.size() > most_interfaces)
        throw std::invalid_argument(fmt::format("link transports: found {}, expected at most {}",
                                                link_transports_.size(), most_interfaces - 1));
    carriers_.resize(1 + link_transports_.size());
    for (std::size_t i = 0; i < carriers_.size(); ++i) {
        const auto ports = port_options(i);
        if (ports.empty() && !link_transports_.empty()) continue;
        carriers_[i] = i == 0 ? make_interface(ports) : link_transports_[i - 1].make(ports);
        interfaces_.push_back(carriers_[i].get());
    }
    if (!interfaces_.empty()) return;
    // A single rank has no peers, but memory to allocate.
    carriers_.front() = make_interface({});
    interfaces_.push_back(carriers_.front().get());
}

int Connections::credits_between(Rank a, Rank b) const {
    return options_.torus.distance(a, b) <= 1 ? options_.credits
                                              : std::min(options_.credits, most_far_credits);
}

// The host, named by its lowest rank; then the address of each carrier, preceded by its length.
std::vector<std::byte> Connections::address() const {
    std::vector<std::byte> all;
    const auto add = [&](transport::ConstBytes bytes) {
        for (const std::byte byte : bytes) all.push_back(byte);
    };
    const auto add_number = [&](std::size_t value) {
        const auto number = std::uint32_t(value);
        add(std::as_bytes(std::span(&number, 1)));
    };
    Rank lowest = options_.rank;
    for (const Rank rank : options_.direct) lowest = std::min(lowest, rank);
    add_number(std::size_t(lowest));
    for (const auto& carrier : carriers_) {
        const auto bytes = carrier != nullptr ? carrier->address() : std::vector<std::byte>();
        add_number(bytes.size());
        add(bytes);
    }
    return all;
}

namespace {

// Takes a number from the front of an address.
std::uint32_t take_number(transport::ConstBytes& bytes, const std::string& whose) {
    std::uint32_t number = 0;
    if (bytes.size() < sizeof number)
        throw std::runtime_error(fmt::format("the address of {} is cut short", whose));
    std::memcpy(&number, bytes.data(), sizeof number);
    bytes = bytes.subspan(sizeof number);
    return number;
}

}  // namespace

// The part of a peer's address for this carrier.
transport::ConstBytes Connections::address_of(Rank peer, std::size_t carrier) const {
    transport::ConstBytes rest = addresses_[std::size_t(peer)];
    if (rest.empty())
        throw std::runtime_error(
            fmt::format("{} has ended before it sent its address", commons_.name_of(peer)));
    take_number(rest, commons_.name_of(peer));
    for (std::size_t i = 0;; ++i) {
        const std::uint32_t length = take_number(rest, commons_.name_of(peer));
        if (length > rest.size())
            throw std::runtime_error(
                fmt::format("the address of {} is cut short", commons_.name_of(peer)));
        if (i == carrier) return rest.first(length);
        rest = rest.subspan(length);
    }
}

void Connections::learn_hosts() {
    for (Rank rank = 0; rank < size(); ++rank) {
        transport::ConstBytes address = addresses_[std::size_t(rank)];
        // A rank that is already dead has no address.
        const auto host =
            address.empty() ? std::uint32_t(rank) : take_number(address, commons_.name_of(rank));
        if (host > std::uint32_t(rank))
            throw std::runtime_error(fmt::format(
                "the address of {} names rank {} as the lowest of its host; expected 0 to {}",
                commons_.name_of(rank), host, rank));
        hosts_.push_back(Rank(host));
    }
}

// Finds the carrier of a connection, as an index into carriers_.
std::optional<std::size_t> Connections::find_carrier(Rank peer,
                                                     std::optional<routing::Direction> link) const {
    if (local_[std::size_t(peer)] || link_transports_.empty()) return 0;
    for (std::size_t i = 0; i < link_transports_.size(); ++i)
        if (!link_transports_[i].carries || link_transports_[i].carries(peer, link)) return 1 + i;
    return std::nullopt;
}

std::size_t Connections::carrier_of(Rank peer, std::optional<routing::Direction> link) const {
    if (const auto carrier = find_carrier(peer, link)) return *carrier;
    throw std::invalid_argument(fmt::format(
        "none of {} link transports carries {} to {}; expected one that does",
        link_transports_.size(),
        link ? fmt::format("link {}{}", link->dimension, link->sign > 0 ? '+' : '-') : "packets",
        commons_.name_of(peer)));
}

// Whether a shortcut to that rank is possible.
bool Connections::may_cut_short(Rank rank) const {
    return options_.shortcuts != 0 && !local_[std::size_t(rank)] && !options_.far_direct &&
           options_.torus.distance(options_.rank, rank) > 1 &&
           find_carrier(rank, std::nullopt).has_value();
}

// The ports that this rank uses on one carrier: one for each link, and one for each rank that it
// reaches without a link.
std::vector<transport::PortOptions> Connections::port_options(std::size_t carrier) const {
    std::vector<transport::PortOptions> ports;
    // The largest packet: a piece of a large message with its header, or a body of core's own.
    const std::size_t slot_bytes = options_.body();
    for (Rank rank = 0; rank < size(); ++rank) {
        if (rank == options_.rank) continue;
        if (!local_[std::size_t(rank)] && !options_.far_direct && !may_cut_short(rank)) continue;
        if (!all_direct() && options_.torus.distance(options_.rank, rank) == 1) continue;  // a link
        if (carrier_of(rank, std::nullopt) != carrier) continue;
        transport::PortOptions port{direct_port_base + std::uint32_t(rank), 1, {}, slot_bytes};
        port.credits[0] = std::uint8_t(credits_between(options_.rank, rank));
        ports.push_back(port);
    }
    if (all_direct()) return ports;
    for (int i = 0; i < 2 * options_.torus.link_dimensions(); ++i) {
        const auto direction = routing::Direction::from_index(i);
        const auto neighbour = options_.torus.neighbour(options_.rank, direction);
        if (!neighbour || carrier_of(*neighbour, direction) != carrier) continue;
        transport::PortOptions port{std::uint32_t(i), link_virtual_channels(), {}, slot_bytes};
        if (options_.detour) port.slot_bytes += detour_room;
        port.credits.fill(0);
        for (int k = 0; k < port.virtual_channels; ++k)
            port.credits[k] = std::uint8_t(credits_of(k));
        ports.push_back(port);
    }
    return ports;
}

int Connections::credits_of(int virtual_channel) const {
    if (virtual_channel == 0) return options_.credits;
    return virtual_channel == options_.torus.virtual_channels() + 1 ? control_credits
                                                                    : options_.relay_credits;
}

transport::ChannelOptions Connections::ports_to(Rank peer,
                                                std::optional<routing::Direction> link) const {
    transport::ChannelOptions ports;
    ports.mutual = link.has_value();
    ports.local_port = link ? std::uint32_t(link->index()) : direct_port_base + std::uint32_t(peer);
    ports.remote_port = link ? std::uint32_t(link->opposite().index())
                             : direct_port_base + std::uint32_t(options_.rank);
    return ports;
}

transport::Channel* Connections::connect_again(Connection& connection,
                                               std::chrono::nanoseconds pause, bool afresh) {
    if (!connection.interface->can().reconnects) return nullptr;
    transport::ChannelOptions ports = ports_to(connection.peer, connection.link);
    ports.pause = pause;
    ports.afresh = afresh;
    try {
        const std::size_t carrier = carrier_of(connection.peer, connection.link);
        transport::Channel& channel =
            carriers_[carrier]->connect(address_of(connection.peer, carrier), ports);
        channel.owner = &connection;
        return &channel;
    } catch (const std::exception&) {
        return nullptr;  // it stays on its detour
    }
}

Connection& Connections::add(Rank peer, std::optional<routing::Direction> link) {
    Connection& connection = *connections_.emplace_back(std::make_unique<Connection>());
    connection.peer = peer;
    connection.link = link;
    connection.virtual_channels = link ? options_.torus.virtual_channels() : 1;
    connection.fragment = options_.fragment();
    return connection;
}

// Resets a connection to its state before any traffic.
void Connections::begin(Connection& connection) const {
    const auto link = connection.link;
    Credits fresh;
    for (int k = 0; k < (link ? link_virtual_channels() : 1); ++k) {
        const int credits = link ? credits_of(k) : credits_between(options_.rank, connection.peer);
        // Credits of the control virtual channel are soon returned.
        const bool control = k == options_.torus.virtual_channels() + 1;
        fresh.add(k, credits, control ? 3 * credits / 4 : std::max(1, credits / 2));
    }
    if (!link) fresh.return_with_packets();
    if (link && options_.torus.is_ring(link->dimension)) fresh.keep_bubble();
    connection.come_up(fresh);
}

void Connections::attach(Connection& connection, const transport::ChannelOptions& ports) {
    const std::size_t carrier = carrier_of(connection.peer, connection.link);
    connection.channel = &carriers_[carrier]->connect(address_of(connection.peer, carrier), ports);
    connection.cable = connection.channel;
    TORUSMP_ASSERT(carriers_[carrier] != nullptr, options_.rank, connection.peer, carrier);
    connection.channel->owner = &connection;
    connection.interface = carriers_[carrier].get();
    if (connection.interface->can().reads_at_once)
        connection.fragment = options_.fragment_in_memory();
}

Connection& Connections::open(Rank peer, std::optional<routing::Direction> link) {
    TORUSMP_ASSERT(link || peers_[std::size_t(peer)].via == nullptr, options_.rank, peer);
    Connection& connection = add(peer, link);
    begin(connection);
    try {
        attach(connection, ports_to(peer, link));
    } catch (const std::exception& error) {
        connection.channel = &nowhere_;
        connection.credits.withdraw();
        unreached_.emplace_back(&connection, error.what());
        commons_.stirred = true;
    }
    TORUSMP_TRACE(connection, debug, options_.rank, "opens a connection to rank {} over {}", peer,
                  connection.transport());
    if (!link) peers_[peer].via = peers_[peer].quick = peers_[peer].comes_by = &connection;
    return connection;
}

Connection& Connections::add_far(Peer& peer) {
    Connection& connection = add(peer.rank, std::nullopt);
    Credits fresh;
    fresh.add(0, options_.credits, std::max(1, options_.credits / 2));
    fresh.return_with_packets();
    connection.come_up(fresh);
    if (peer.quick == peer.via) peer.quick = &connection;
    peer.via = peer.comes_by = &connection;
    // Its packets take one path at a time, and end with an envelope, so relays cannot place them.
    peer.ways_out = 0;
    peer.placing = nullptr;
    return connection;
}

bool Connections::open_shortcut(Peer& peer) {
    if (peer.shortcut == nullptr) peer.shortcut = &add(peer.rank, std::nullopt);
    Connection& connection = *peer.shortcut;
    TORUSMP_ASSERT(connection.messages.empty() && connection.streams.empty(), options_.rank,
                   peer.rank);
    begin(connection);
    transport::ChannelOptions ports = ports_to(peer.rank, std::nullopt);
    ports.renews = true;
    try {
        attach(connection, ports);
    } catch (const std::exception&) {
        connection.channel = connection.cable = &nowhere_;
        connection.go_down();
    }
    TORUSMP_TRACE(connection, debug, options_.rank, "opens a shortcut to rank {}{}", peer.rank,
                  connection.down() ? ", in vain" : "");
    return !connection.down();
}

void Connections::connect(std::vector<std::vector<std::byte>> addresses_by_rank) {
    if (addresses_by_rank.size() != peers_.size())
        throw std::invalid_argument(
            fmt::format("addresses: found {}, expected one for each of {} ranks",
                        addresses_by_rank.size(), peers_.size()));
    addresses_ = std::move(addresses_by_rank);
    learn_hosts();
    for (int i = 0; i < 2 * options_.torus.link_dimensions(); ++i) {
        const auto direction = routing::Direction::from_index(i);
        const auto neighbour = options_.torus.neighbour(options_.rank, direction);
        if (!neighbour) continue;
        if (!all_direct())
            links_[i] = &open(*neighbour, direction);
        else if (peers_[*neighbour].via == nullptr)
            open(*neighbour, std::nullopt);
    }
    if (all_direct()) return;
    for (Connection* const link : links_)
        if (link != nullptr) find_turns(*link);
    for (Peer& peer : peers_) route(peer);
}

void Connections::find_turns(Connection& connection) const {
    for (const Connection* const out : links_)
        if (out != nullptr && options_.torus.turns(options_.rank, *connection.link, *out->link))
            connection.turns |= std::uint16_t(1u << out->link->index());
}

// Sets the path to a peer over the links; none if it is reached directly, on first use.
void Connections::route(Peer& peer) {
    const routing::Torus& torus = options_.torus;
    const Rank self = options_.rank;
    const int distance = torus.distance(self, peer.rank);
    if (distance == 0) return;
    if (distance > 1 && (local_[std::size_t(peer.rank)] || options_.far_direct)) return;
    const auto path = routing::usual_path(torus, peer.rank, self);
    peer.via = links_[torus.next_hop(self, peer.rank)->direction.index()];
    TORUSMP_ASSERT(peer.via != nullptr && !path.empty(), self, peer.rank, distance);
    if (!may_cut_short(peer.rank) || !carriers_[carrier_of(peer.rank, {})]->can().renews)
        peer.quick = peer.via;
    else
        peer.until_shortcut = peer.shortcut_after = options_.shortcut_after;
    peer.comes_by = links_[path.back().direction.opposite().index()];
    if (distance > 1 && peer.comes_by->channel->can().places)
        peer.placing = peer.comes_by->interface;
    for (const auto direction : routing::first_directions(torus, self, peer.rank))
        if (const auto* it = links_[direction.index()]->interface;
            it != nullptr && it->can().separate_links)
            peer.ways_out |= std::uint16_t(1u << direction.index());
    if ((peer.ways_out & (peer.ways_out - 1)) == 0) peer.ways_out = 0;  // only one: no choice
}

// Finds the connection to a peer without a path yet, or one that may get a shortcut.
Connection& Connections::find_way(Peer& peer) {
    if (peer.via == nullptr) return open(peer.rank, std::nullopt);
    const bool made = peer.shortcut != nullptr && !peer.shortcut->down();
    if (made && !peer.shortcut->channel->connecting()) return *(peer.quick = peer.shortcut);
    // It is 0 when the shortcut is due and Shortcuts has not acted yet.
    if (peer.until_shortcut != 0 && --peer.until_shortcut == 0)
        fall_due(peer.rank, made ? Due::overdue : Due::wanted);
    return *peer.via;
}

void Connections::fall_due(Rank rank, decltype(Due::why) why) {
    due_.push_back({rank, why});
    commons_.errands |= Commons::shortcuts;
}

// Whether packets of a spread message may arrive from that peer over that connection.
bool Connections::arrives_by(Peer& peer, const Connection& connection) {
    if (peer.comes_by == &connection) return true;
    if (!connection.link || peer.comes_by == nullptr || !peer.comes_by->link) return false;
    if (peer.ways_in == 0)
        for (const auto first :
             routing::first_directions(options_.torus, peer.rank, options_.rank)) {
            const auto path = routing::path_by(options_.torus, peer.rank, options_.rank, first);
            peer.ways_in |= std::uint16_t(1u << path.back().direction.opposite().index());
        }
    return (peer.ways_in >> connection.link->index() & 1) != 0;
}

bool Connections::connecting() const {
    return std::any_of(links_.begin(), links_.end(), [](const Connection* link) {
        return link != nullptr && !link->down() && link->channel->connecting();
    });
}

bool Connections::answer(std::uint32_t port) {
    const std::uint32_t rank = port - direct_port_base;
    if (port < direct_port_base || rank >= peers_.size()) return false;
    if (peers_[rank].shortcut_after != 0)
        fall_due(Rank(rank), Due::answer);
    else if (peers_[rank].via == nullptr)
        open(Rank(rank), std::nullopt);
    else
        return false;
    return true;
}

int Connections::cables_to(const Peer& peer, Cables& cables) const {
    int count = 0;
    cables[0] = peer.via;
    if (peer.ways_out == 0) return 1;
    for (Connection* link : links_)
        if (link != nullptr && link->peer == peer.rank && count < int(cables.size()))
            cables[std::size_t(count++)] = link;
    return count;
}

bool Connections::reaches(const Peer& peer) const {
    Cables cables{};
    const int count = cables_to(peer, cables);
    return std::any_of(cables.begin(), cables.begin() + count,
                       [](const Connection* cable) { return cable != nullptr && !cable->down(); });
}

}  // namespace torusmp::core

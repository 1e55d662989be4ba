#include "core/fault/faults.h"

#include <fmt/format.h>

#include <algorithm>

#include "routing/ways.h"

namespace torusmp::core {

// Whether a path that packets may take from one rank to the other uses that link.
bool Faults::crosses(Rank from, Rank to, Rank at, routing::Direction direction) const {
    const routing::Torus& torus = commons_.torus();
    const auto uses = [&](const std::vector<routing::Hop>& path) {
        Rank here = from;
        for (const routing::Hop& hop : path) {
            if (here == at && hop.direction == direction) return true;
            here = hop.rank;
        }
        return false;
    };
    if (uses(torus.path(from, to))) return true;
    const auto spreads = [](const transport::Interface* it) { return it->separate_links(); };
    const auto interfaces = connections_.interfaces();
    if (std::none_of(interfaces.begin(), interfaces.end(), spreads)) return false;
    for (const auto first : routing::first_directions(torus, from, to))
        if (uses(routing::path_by(torus, from, to, first))) return true;
    return false;
}

void Faults::close(Connection& connection, Error error, std::string_view why) {
    if (connection.down) return;
    connection.down = true;
    connection.held = 0;
    connection.channel->close(why);
    commons_.log(fmt::format("{} is closed: {}", commons_.name_of(connection), why));
    if (error == Error::protocol || !connection.link)
        lose(connections_.peer(connection.peer), error);
    PacketSender::drop_queues(connection, Error::unreachable);
    if (connection.link) link_dead(commons_.rank(), *connection.link, nullptr);
}

bool Faults::on_link_dead(Connection& connection, const std::byte* payload, std::size_t bytes) {
    LinkBody body;
    if (bytes < sizeof body) return false;
    std::memcpy(&body, payload, sizeof body);
    if (body.rank >= std::uint32_t(connections_.size()) ||
        body.direction >= std::uint32_t(2 * commons_.torus().dimensions()))
        return false;
    const auto direction = routing::Direction::from_index(int(body.direction));
    if (!commons_.torus().neighbour(Rank(body.rank), direction)) return false;
    // Of our own links the other end may know first: it closed it.
    const Rank other = *commons_.torus().neighbour(Rank(body.rank), direction);
    Connection* ours = nullptr;
    if (Rank(body.rank) == commons_.rank()) ours = connections_.link(direction);
    if (other == commons_.rank()) ours = connections_.link(direction.opposite());
    if (ours != nullptr)
        close(*ours, Error::unreachable, "its other end says that it is dead");
    else
        link_dead(Rank(body.rank), direction, &connection);
    return true;
}

void Faults::link_dead(Rank at, routing::Direction direction, const Connection* heard_from) {
    for (const DeadLink& known : dead_links_)
        if (known.at == at && known.direction == direction) return;
    const Rank other = *commons_.torus().neighbour(at, direction);
    dead_links_.push_back({at, direction, other});
    dead_links_.push_back({other, direction.opposite(), other});
    count_.fetch_add(1, std::memory_order_relaxed);

    const LinkBody body{std::uint32_t(at), std::uint32_t(direction.index())};
    for (Connection* link : connections_.links())
        if (link != nullptr && link != heard_from && !link->down)
            sender_.send_over(*link, connections_.peer(link->peer), PacketKind::link_dead, body);
    for (Peer& peer : connections_.peers()) {
        if (peer.dead || peer.via == nullptr || !peer.via->link) continue;
        const auto cut = [&](Rank from, Rank to) {
            return crosses(from, to, at, direction) ||
                   crosses(from, to, other, direction.opposite());
        };
        if (!cut(commons_.rank(), peer.rank) && !cut(peer.rank, commons_.rank())) continue;
        commons_.log(fmt::format("{} cannot be reached: the link between {} and {} is dead",
                                 commons_.name_of(peer.rank), commons_.name_of(at),
                                 commons_.name_of(other)));
        lose(peer, Error::unreachable);
    }
}

void Faults::peer_died(Rank peer, std::string_view why) {
    if (connections_.peer(peer).dead) return;
    commons_.stirred = true;
    commons_.log(fmt::format("{} is dead: {}", commons_.name_of(peer), why));
    lose(connections_.peer(peer), Error::unreachable);
}

std::optional<Rank> Faults::lost_in(std::span<const Rank> members) const {
    const auto is_member = [&](Rank rank) {
        return std::find(members.begin(), members.end(), rank) != members.end();
    };
    // Direct connections use no link.
    const auto parts = [&](Rank a, Rank b, const DeadLink& link) {
        return a != b && !(connections_.local(a) && connections_.local(b)) &&
               crosses(a, b, link.at, link.direction);
    };
    for (const DeadLink& link : dead_links_) {
        if (is_member(link.at) && is_member(link.suspect)) return link.suspect;
        for (const Rank a : members)
            for (const Rank b : members)
                if (parts(a, b, link)) return link.suspect;
    }
    for (const Rank rank : members)
        if (connections_.peer(rank).dead) return rank;
    return std::nullopt;
}

void Faults::lose(Peer& peer, Error error) {
    if (peer.dead) return;
    peer.dead = true;
    count_.fetch_add(1, std::memory_order_relaxed);
    for (PeerLossListener* listener : listeners_) listener->peer_lost(peer, error);
}

}  // namespace torusmp::core

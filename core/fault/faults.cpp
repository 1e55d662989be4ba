// SPDX-License-Identifier: BSD-3-Clause
#include "core/fault/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/trace.h"
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
    if (far_ends_.in_use() && torus.distance(from, to) > 1) return uses(far_ends_.path(from, to));
    if (uses(routing::usual_path(torus, from, to))) return true;
    const auto spreads = [](const transport::Interface* it) { return it->can().separate_links; };
    const auto interfaces = connections_.interfaces();
    if (std::none_of(interfaces.begin(), interfaces.end(), spreads)) return false;
    for (const auto first : routing::first_directions(torus, from, to))
        if (uses(routing::path_by(torus, from, to, first))) return true;
    return false;
}

void Faults::close(Connection& connection, Error error, std::string_view why, std::string sight) {
    TORUSMP_ASSERT(commons_.lock.held() && error != Error::none, commons_.rank(), connection.peer,
                   error, why);
    if (connection.down()) return;
    connection.go_down();
    connection.channel->close(why);
    const bool unreached = starting_ || connections_.is_nowhere(connection);
    const std::string what =
        fmt::format("{} {}: {}{}", commons_.name_of(connection),
                    unreached ? "cannot be established" : "is closed", why, route_of(connection));
    TORUSMP_TRACE(connection, info, commons_.rank(), "closes: {}", what);
    // The launcher's report of a death is enough, and may follow.
    if (!commons_.options.tolerates_deaths || starting_)
        tell_fault(what);
    else if (!connections_.peer(connection.peer).reported)
        untold_.emplace_back(connection.peer, what);
    if (sight.empty()) sight = fmt::format("{} saw: {}", commons_.name_of(commons_.rank()), why);
    if (error == Error::protocol || !connection.link)
        lose(connections_.peer(connection.peer), error, what);
    PacketSender::drop_queues(connection, Error::unreachable);
    if (!connection.link) return;
    commons_.errands |= Commons::links;
    link_dead(commons_.rank(), *connection.link, nullptr, sight);
}

// The cables over which the kernels forward a connection to a far rank.
std::string Faults::route_of(const Connection& connection) const {
    if (connection.link || connection.interface == nullptr || connections_.local(connection.peer))
        return {};
    std::string route = "; the kernels' route there:";
    Rank here = commons_.rank();
    for (const routing::Hop& hop : commons_.torus().path(here, connection.peer)) {
        route += fmt::format(" {}, its link {}{},", commons_.name_of(here), hop.direction.dimension,
                             hop.direction.sign > 0 ? '+' : '-');
        here = hop.rank;
    }
    return route + " " + commons_.name_of(here);
}

void Faults::close_unreached() {
    for (const auto& [connection, why] : connections_.take_unreached())
        close(*connection, Error::unreachable, why);
}

// While the links are awaited, the first fault is the reason why they do not come up.
void Faults::tell_fault(const std::string& text) {
    const auto& log =
        commons_.options.log_fault ? commons_.options.log_fault : commons_.options.log;
    if (starting_)
        start_troubles_.push_back(text);
    else if (log)
        log(text);
}

namespace {

// Text from another rank, which may contain anything.
std::string sight_of(const std::byte* text, std::size_t bytes) {
    std::string sight(reinterpret_cast<const char*>(text), std::min(bytes, longest_sight));
    std::replace_if(
        sight.begin(), sight.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return sight;
}

}  // namespace

bool Faults::on_link_dead(Connection& connection, const std::byte* payload, std::size_t bytes) {
    LinkBody body;
    if (bytes < sizeof body) return false;
    std::memcpy(&body, payload, sizeof body);
    if (body.rank >= std::uint32_t(connections_.size()) ||
        body.direction >= std::uint32_t(2 * commons_.torus().link_dimensions()))
        return false;
    const auto direction = routing::Direction::from_index(int(body.direction));
    if (!commons_.torus().neighbour(Rank(body.rank), direction)) return false;
    // The other end may have known first about our own link, and closed it.
    const Rank other = *commons_.torus().neighbour(Rank(body.rank), direction);
    Connection* ours = nullptr;
    if (Rank(body.rank) == commons_.rank()) ours = connections_.link(direction);
    if (other == commons_.rank()) ours = connections_.link(direction.opposite());
    std::string sight = sight_of(payload + sizeof body, bytes - sizeof body);
    if (ours != nullptr)
        close(*ours, Error::unreachable, "its other end reports it dead", std::move(sight));
    else
        link_dead(Rank(body.rank), direction, &connection, sight);
    return true;
}

void Faults::link_dead(Rank at, routing::Direction direction, const Connection* heard_from,
                       const std::string& sight) {
    for (const DeadLink& known : dead_links_)
        if (known.at == at && known.direction == direction) return;
    if (starting_) return;  // this rank ends the job itself, with the reason
    const Rank other = *commons_.torus().neighbour(at, direction);
    const std::string what = fmt::format("the link between {} and {} is dead; {}",
                                         commons_.name_of(at), commons_.name_of(other), sight);
    dead_links_.push_back({at, direction, other, what});
    dead_links_.push_back({other, direction.opposite(), other, what});
    TORUSMP_ASSERT(dead_links_.size() % 2 == 0, commons_.rank(), at, other, dead_links_.size());
    count_.fetch_add(1, std::memory_order_relaxed);

    const LinkBody body{std::uint32_t(at), std::uint32_t(direction.index())};
    std::vector<std::byte> news(sizeof body + std::min(sight.size(), longest_sight));
    std::memcpy(news.data(), &body, sizeof body);
    std::memcpy(news.data() + sizeof body, sight.data(), news.size() - sizeof body);
    for (Connection* link : connections_.links())
        if (link != nullptr && link != heard_from && !link->down())
            sender_.send_bytes(*link, connections_.peer(link->peer), PacketKind::link_dead, news, 0,
                               0);
    lose_behind(dead_links_.back());
    // Whether the peers beyond the neighbours are lost, too, depends on which ranks live.
    if (far_ends_.in_use() && commons_.options.on_loss) commons_.options.on_loss();
}

// Loses the peers to or from which a path crosses that link.
void Faults::lose_behind(const DeadLink& link) {
    const Rank other = *commons_.torus().neighbour(link.at, link.direction);
    for (Peer& peer : connections_.peers()) {
        if (peer.dead || peer.via == nullptr) continue;
        if (peer.via->far != nullptr ? !link.ends_live : !peer.via->link) continue;
        const auto cut = [&](Rank from, Rank to) {
            return crosses(from, to, link.at, link.direction) ||
                   crosses(from, to, other, link.direction.opposite());
        };
        if (cut(commons_.rank(), peer.rank) || cut(peer.rank, commons_.rank()))
            lose(peer, Error::unreachable, link.what);
    }
}

void Faults::peer_died(Rank peer, std::string_view why) {
    Peer& dead = connections_.peer(peer);
    if (std::exchange(dead.reported, true)) return;
    dead.cut_off = false;
    commons_.stirred = true;
    std::erase_if(untold_, [&](const auto& it) { return it.first == peer; });
    if (!dead.dead) {
        const std::string what = fmt::format("{} is dead: {}", commons_.name_of(peer), why);
        if (!commons_.options.tolerates_deaths) tell_fault(what);  // the launcher has said so
        lose(dead, Error::unreachable, what);
    }
    for (PeerLossListener* listener : listeners_) listener->peer_judged(dead);
    // Memory does not report that its reader is gone: what waits for its credits would wait
    // forever. A socket may report it late, and its unsent bytes would keep this rank from leaving.
    Connection* const via = dead.via;
    if (via != nullptr && !via->link && !via->down()) {
        if (via->interface != nullptr && via->interface->can().polls_kernel)
            close(*via, Error::unreachable, why);
        else
            PacketSender::drop_queues(*via, Error::unreachable);
        if (via->peer == peer) via->channel->free_peer_memory();
    }
    // A link that waits for its other end would wait forever, and so will one without a cable.
    for (Connection* link : connections_.links())
        if (link != nullptr && link->peer == peer && !link->down() &&
            (link->channel->connecting() || link->cable == nullptr || connections_.local(peer)))
            close(*link, Error::unreachable, "its other end is dead");
    far_ends_.change_paths(*this);
    judge_links();
}

// Loses the ranks beyond the neighbours that dead links between living ranks cut off.
void Faults::judge_links() {
    for (std::size_t i = 0; i < dead_links_.size(); ++i) {
        DeadLink& link = dead_links_[i];
        const Rank other = *commons_.torus().neighbour(link.at, link.direction);
        link.ends_live &=
            !connections_.peer(link.at).reported && !connections_.peer(other).reported;
        if (link.ends_live) lose_behind(link);
    }
}

void Faults::deaths_are_known() {
    commons_.stirred = true;
    for (const auto& [peer, text] : std::exchange(untold_, {})) tell_fault(text);
    for (DeadLink& link : dead_links_) link.ends_live = true;
    judge_links();
    for (Peer& peer : connections_.peers()) {
        if (!peer.dead || peer.reported || std::exchange(peer.cut_off, true)) continue;
        for (PeerLossListener* listener : listeners_) listener->peer_judged(peer);
    }
}

// If this rank can reach the peer, a dead link elsewhere separates other ranks.
std::string Faults::why_lost(Rank peer) const {
    if (const std::string& why = connections_.peer(peer).why; !why.empty()) return why;
    for (const DeadLink& link : dead_links_)
        if (link.suspect == peer || link.at == peer) return link.what;
    return std::string(describe(Error::unreachable));
}

std::string Faults::why_failed(Error error, Rank peer) const {
    const std::string what(describe(error));
    if (peer == any_source) return what;
    if (error == Error::unreachable) return why_lost(peer);
    if (error != Error::protocol) return what;
    const std::string& why = connections_.peer(peer).why;
    return why.empty() ? what : what + ": " + why;
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
        if (far_ends_.in_use() && !link.ends_live) continue;
        for (const Rank a : members)
            for (const Rank b : members)
                if (parts(a, b, link)) return link.suspect;
    }
    for (const Rank rank : members)
        if (connections_.peer(rank).dead) return rank;
    return std::nullopt;
}

void Faults::begin_start() {
    starting_ = true;
}

std::vector<std::string> Faults::end_start() {
    starting_ = false;
    return std::exchange(start_troubles_, {});
}

void Faults::lose(Peer& peer, Error error, std::string why) {
    TORUSMP_ASSERT(commons_.lock.held() && error != Error::none, commons_.rank(), peer.rank, error);
    if (peer.dead) return;
    peer.dead = true;
    peer.why = std::move(why);
    count_.fetch_add(1, std::memory_order_relaxed);
    for (PeerLossListener* listener : listeners_) listener->peer_lost(peer, error);
    if (listener_) listener_(peer.rank);
    if (commons_.options.on_loss) commons_.options.on_loss();
}

}  // namespace torusmp::core

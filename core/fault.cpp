// Dead links and dead ranks: who is told, and what ends with an error.
//
// A rank that sees a link die tells its neighbours, they tell theirs. Paths are fixed by
// shortest direction first, so every rank works out for itself whom it cannot reach any more: those
// whose path, there or back, crosses a dead link.
#include <fmt/format.h>

#include "core/runtime.h"
#include "routing/ways.h"

namespace torusmp::core {

// Whether a path that packets may take from one rank to the other uses that link.
bool Runtime::crosses(Rank from, Rank to, Rank at, routing::Direction direction) const {
    const routing::Torus& torus = options_.torus;
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
    if (std::none_of(interfaces_.begin(), interfaces_.end(), spreads)) return false;
    for (const auto first : routing::first_directions(torus, from, to))
        if (uses(routing::path_by(torus, from, to, first))) return true;
    return false;
}

void Runtime::on_down(transport::Channel& channel, std::string_view why) {
    stirred_ = true;
    close(*static_cast<Connection*>(channel.owner), Error::unreachable, why);
}

void Runtime::close(Connection& connection, Error error, std::string_view why, std::string sight) {
    if (connection.down) return;
    connection.down = true;
    connection.held = 0;
    connection.channel->close(why);
    const bool unreached = starting_ || connection.channel == &nowhere_;
    const std::string what = fmt::format("{} {}: {}", name_of(connection),
                                         unreached ? "does not come about" : "is closed", why);
    tell_fault(what);
    if (sight.empty()) sight = fmt::format("{} saw: {}", name_of(options_.rank), why);
    if (error == Error::protocol || !connection.link)
        fail_peer(peers_[connection.peer], error, what);
    while (!connection.messages.empty()) connection.messages.pop()->drop(*this, Error::unreachable);
    while (!connection.streams.empty()) connection.streams.pop()->drop(*this, Error::unreachable);
    if (connection.link) link_dead(options_.rank, *connection.link, nullptr, sight);
}

void Runtime::close_unreached() {
    for (const auto& [connection, why] : std::exchange(unreached_, {}))
        close(*connection, Error::unreachable, why);
}

// Where links are awaited the first fault is the reason why they do not come up.
void Runtime::tell_fault(const std::string& text) {
    if (starting_)
        start_troubles_.push_back(text);
    else
        options_.log_fault ? options_.log_fault(text) : log(text);
}

namespace {

// What another rank says of it, which may be anything.
std::string sight_of(const std::byte* text, std::size_t bytes) {
    std::string sight(reinterpret_cast<const char*>(text), std::min(bytes, longest_sight));
    std::replace_if(
        sight.begin(), sight.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return sight;
}

}  // namespace

bool Runtime::on_link_dead(Connection& connection, const std::byte* payload, std::size_t bytes) {
    LinkBody body;
    if (bytes < sizeof body) return false;
    std::memcpy(&body, payload, sizeof body);
    if (body.rank >= peers_.size() ||
        body.direction >= std::uint32_t(2 * options_.torus.dimensions()))
        return false;
    const auto direction = routing::Direction::from_index(int(body.direction));
    if (!options_.torus.neighbour(Rank(body.rank), direction)) return false;
    // Of our own links the other end may know first: it closed it.
    const Rank other = *options_.torus.neighbour(Rank(body.rank), direction);
    Connection* ours = nullptr;
    if (Rank(body.rank) == options_.rank) ours = links_[direction.index()];
    if (other == options_.rank) ours = links_[direction.opposite().index()];
    std::string sight = sight_of(payload + sizeof body, bytes - sizeof body);
    if (ours != nullptr)
        close(*ours, Error::unreachable, "its other end says that it is dead", std::move(sight));
    else
        link_dead(Rank(body.rank), direction, &connection, sight);
    return true;
}

void Runtime::link_dead(Rank at, routing::Direction direction, const Connection* heard_from,
                        const std::string& sight) {
    for (const DeadLink& known : dead_links_)
        if (known.at == at && known.direction == direction) return;
    if (starting_) return;  // this rank ends the job itself, with the reason
    const Rank other = *options_.torus.neighbour(at, direction);
    const std::string what =
        fmt::format("the link between {} and {} is dead; {}", name_of(at), name_of(other), sight);
    dead_links_.push_back({at, direction, other, what});
    dead_links_.push_back({other, direction.opposite(), other, what});
    faults_.fetch_add(1, std::memory_order_relaxed);

    const LinkBody body{std::uint32_t(at), std::uint32_t(direction.index())};
    std::vector<std::byte> news(sizeof body + std::min(sight.size(), longest_sight));
    std::memcpy(news.data(), &body, sizeof body);
    std::memcpy(news.data() + sizeof body, sight.data(), news.size() - sizeof body);
    for (Connection* link : links_)
        if (link != nullptr && link != heard_from && !link->down)
            send_over(*link, peers_[link->peer], PacketKind::link_dead, news, 0, 0);
    for (Peer& peer : peers_) {
        if (peer.dead || peer.via == nullptr || !peer.via->link) continue;
        const auto cut = [&](Rank from, Rank to) {
            return crosses(from, to, at, direction) ||
                   crosses(from, to, other, direction.opposite());
        };
        if (!cut(options_.rank, peer.rank) && !cut(peer.rank, options_.rank)) continue;
        fail_peer(peer, Error::unreachable, what);
    }
}

void Runtime::peer_died(Rank peer, std::string_view why) {
    Guard guard(*this);
    if (peers_[peer].dead) return;
    stirred_ = true;
    const std::string what = fmt::format("{} is dead: {}", name_of(peer), why);
    tell_fault(what);
    fail_peer(peers_[peer], Error::unreachable, what);
    // A link that waits for its other end would do so for ever.
    for (Connection* link : links_)
        if (link != nullptr && link->peer == peer && !link->down && link->channel->connecting())
            close(*link, Error::unreachable, "its other end is dead");
}

// Of somebody whom this rank does reach, it is a link elsewhere that keeps others apart.
std::string Runtime::fault_of(Rank peer) const {
    Guard guard(*this);
    if (const std::string& why = peers_[peer].why; !why.empty()) return why;
    for (const DeadLink& link : dead_links_)
        if (link.suspect == peer || link.at == peer) return link.what;
    return std::string(describe(Error::unreachable));
}

std::optional<Rank> Runtime::lost_in(std::span<const Rank> members) const {
    Guard guard(*this);
    const auto is_member = [&](Rank rank) {
        return std::find(members.begin(), members.end(), rank) != members.end();
    };
    // Direct connections use no link.
    const auto parts = [&](Rank a, Rank b, const DeadLink& link) {
        return a != b && !(local_[a] && local_[b]) && crosses(a, b, link.at, link.direction);
    };
    for (const DeadLink& link : dead_links_) {
        if (is_member(link.at) && is_member(link.suspect)) return link.suspect;
        for (const Rank a : members)
            for (const Rank b : members)
                if (parts(a, b, link)) return link.suspect;
    }
    for (const Rank rank : members)
        if (peers_[rank].dead) return rank;
    return std::nullopt;
}

// Ends everything that waits for this peer. Wildcard receives end too: what they wait for may
// have been the message that will not come.
void Runtime::fail_peer(Peer& peer, Error error, std::string why) {
    if (peer.dead) return;
    peer.dead = true;
    peer.why = std::move(why);
    faults_.fetch_add(1, std::memory_order_relaxed);
    // A transfer that the transport still works on ends through on_transfer(): until then it uses
    // the caller's memory.
    Cables links{};
    const int count = links_to(peer, links);
    const auto in_transfer = [&](bool pending) {
        return pending && std::any_of(links.begin(), links.begin() + count, [](Connection* link) {
                   return link != nullptr && !link->down;
               });
    };
    std::vector<ReceiveRequest*> receives;
    matching_.for_each_posted([&](ReceiveRequest& request) {
        if (request.peer_ == peer.rank || request.peer_ == any_source) receives.push_back(&request);
    });
    for (ReceiveRequest* request : receives) matching_.remove(*request);
    for (const auto& flow : peer.receive_flows)
        while (ReceiveRequest* request = next_started(*flow)) receives.push_back(request);
    landings_.for_each([&](ReceiveRequest& request) {
        if (!request.posted_ && request.status_.source == peer.rank &&
            !in_transfer(request.reading_))
            receives.push_back(&request);
    });
    for (ReceiveRequest* request : receives) {
        if (request->complete()) continue;
        if (request->landing_ != 0) close_landing(*request);
        request->status_.source = peer.rank;
        complete(*request, error);
    }
    std::vector<SendRequest*> sends;
    departures_.for_each([&](SendRequest& request) {
        // A stream stands in a queue and ends when its turn comes.
        if (request.peer_ == peer.rank && request.stage_ != SendRequest::Stage::stream &&
            !in_transfer(request.stage_ == SendRequest::Stage::writing))
            sends.push_back(&request);
    });
    for (SendRequest* request : sends) {
        stop_waiting(*request);
        finish_send(*request, error);
    }
}

}  // namespace torusmp::core

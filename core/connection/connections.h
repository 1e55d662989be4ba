// SPDX-License-Identifier: BSD-3-Clause
// The other ranks and the paths to them: one connection for each link or direct neighbour, made at
// start, and one for each further direct rank, made when it is first needed.
//
// Owns the transports' interfaces and all connections. Used under the Runtime's lock.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/commons.h"
#include "core/connection/connection.h"
#include "core/connection/loopback.h"
#include "core/connection/nowhere.h"
#include "core/connection/peer.h"

namespace torusmp::core {

// The cables to one neighbour.
using Cables = std::array<Connection*, std::size_t(2 * routing::max_dimensions)>;

class Connections {
  public:
    using Links = std::array<Connection*, std::size_t(2 * routing::max_dimensions)>;

    // One interface for the host and one for each link transport.
    static constexpr std::size_t most_interfaces = 4;

    // See Runtime::Runtime().
    Connections(Commons& commons, const InterfaceFactory& make_interface,
                std::vector<LinkTransport> link_transports);

    std::vector<std::byte> address() const;
    // Opens the links or, where all ranks are direct, the connections to the neighbours.
    void connect(std::vector<std::vector<std::byte>> addresses_by_rank);
    // True while a link is not up but may still come up.
    bool connecting() const;
    // Makes a new channel for a link whose cable has died. The channel waits until the cable is
    // back, and at least for `pause`. For `afresh` see ChannelOptions. Returns null if the link
    // cannot have one.
    transport::Channel* connect_again(Connection& connection, std::chrono::nanoseconds pause,
                                      bool afresh);
    // Connections that could not be made since the last call, each with the reason. They are closed
    // in the next poll, not while a send is being started.
    std::vector<std::pair<Connection*, std::string>> take_unreached() {
        return std::exchange(unreached_, {});
    }
    bool has_unreached() const { return !unreached_.empty(); }
    bool is_nowhere(const Connection& connection) const { return connection.channel == &nowhere_; }
    // Whether a lost peer may live, since the launcher has not reported its death.
    bool may_live(const Peer& peer) const {
        return peer.dead && !peer.reported && commons_.options.tolerates_deaths;
    }
    // Handles a peer's channel to one of our ports. Returns false if there was nothing to do.
    bool answer(std::uint32_t port);
    // Makes, or remakes, the connection Peer::shortcut. Returns false if this cannot even be
    // attempted.
    bool open_shortcut(Peer& peer);
    // Whether packets to some ranks are relayed.
    bool relays() const { return !all_direct() && !options_.far_direct; }
    // Makes a connection to a rank beyond the links, and all packets to it use that connection. The
    // caller gives it its channel.
    Connection& add_far(Peer& peer);
    // Shortcuts that have become due since the last call; commons.errands shows whether there are
    // any.
    struct Due {
        Rank rank;
        enum { answer, wanted, overdue } why;  // overdue means still being made
    };
    std::vector<Due> take_due() { return std::exchange(due_, {}); }

    int size() const { return int(peers_.size()); }
    Peer& peer(Rank rank) { return peers_[std::size_t(rank)]; }
    const Peer& peer(Rank rank) const { return peers_[std::size_t(rank)]; }
    std::span<Peer> peers() { return peers_; }
    std::span<const Peer> peers() const { return peers_; }
    // Whether a link can lose its cable and get it back: true for links between hosts over some
    // transports.
    bool outlives_cable(const Connection& link) const {
        return !local(link.peer) && link.interface != nullptr && link.interface->can().reconnects;
    }
    bool local(Rank rank) const { return local_[std::size_t(rank)]; }
    Rank host_of(Rank rank) const { return hosts_[std::size_t(rank)]; }

    const Links& links() const { return links_; }
    Connection* link(routing::Direction direction) const {
        return links_[std::size_t(direction.index())];
    }
    Connection& to(Peer& peer) {
        return peer.via != nullptr ? *peer.via : open(peer.rank, std::nullopt);
    }
    // The connection for sequenced packets, all of which take one path at a time.
    Connection& way(Peer& peer) { return peer.quick != nullptr ? *peer.quick : find_way(peer); }
    std::span<const std::unique_ptr<Connection>> all() const { return connections_; }
    std::span<transport::Interface* const> interfaces() const { return interfaces_; }
    Loopback& loopback() { return *loopback_; }
    const Loopback& loopback() const { return *loopback_; }

    // The cables to a neighbour that can be used at the same time, or the channel that leads there
    // if there is only one. Returns their number.
    int cables_to(const Peer& peer, Cables& cables) const;
    // Whether a cable to that neighbour, or the channel that leads there, is alive.
    bool reaches(const Peer& peer) const;
    // Whether packets of a spread message may arrive from that peer over that connection.
    bool arrives_by(Peer& peer, const Connection& connection);

  private:
    bool all_direct() const { return options_.direct.size() == peers_.size(); }
    void open_interfaces(const InterfaceFactory& make_interface);
    std::optional<std::size_t> find_carrier(Rank peer,
                                            std::optional<routing::Direction> link) const;
    std::size_t carrier_of(Rank peer, std::optional<routing::Direction> link) const;
    bool may_cut_short(Rank rank) const;
    transport::ConstBytes address_of(Rank peer, std::size_t carrier) const;
    void learn_hosts();
    std::vector<transport::PortOptions> port_options(std::size_t carrier) const;
    int credits_between(Rank a, Rank b) const;
    // The number of virtual channels of a link, including those of LinkManager.
    int link_virtual_channels() const {
        return options_.torus.virtual_channels() + (options_.detour ? 2 : 0);
    }
    int credits_of(int virtual_channel) const;
    transport::ChannelOptions ports_to(Rank peer, std::optional<routing::Direction> link) const;
    Connection& add(Rank peer, std::optional<routing::Direction> link);
    void begin(Connection& connection) const;
    void attach(Connection& connection, const transport::ChannelOptions& ports);
    Connection& open(Rank peer, std::optional<routing::Direction> link);
    void find_turns(Connection& connection) const;
    void route(Peer& peer);
    [[gnu::noinline]] Connection& find_way(Peer& peer);
    void fall_due(Rank rank, decltype(Due::why) why);

    Commons& commons_;
    const Options& options_;
    std::vector<LinkTransport> link_transports_;
    // One interface to the ranks in Options::direct, or to all ranks; then one for each link
    // transport. Null if it has nothing to carry.
    std::vector<std::unique_ptr<transport::Interface>> carriers_;
    std::vector<transport::Interface*> interfaces_;  // the non-null carriers
    std::unique_ptr<Loopback> loopback_;             // to this rank itself
    std::vector<bool> local_;                        // whether each rank is in Options::direct
    std::vector<std::vector<std::byte>> addresses_;
    std::vector<Rank> hosts_;  // by rank
    std::vector<Peer> peers_;  // by rank
    std::vector<std::unique_ptr<Connection>> connections_;
    Links links_{};
    Nowhere nowhere_;
    std::vector<std::pair<Connection*, std::string>> unreached_;
    std::vector<Due> due_;
};

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
// Keeps links going when cables die: spreads news of dead links, lets the two ends of a link agree
// on its new path, and operates detours over other ranks.
//
// docs/architecture.md, "Detours", describes the protocol, and why nothing is lost or waits
// forever.
//
// Used under the Runtime's lock.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/connection/fault_handler.h"
#include "core/connection/packet_sender.h"
#include "core/connection/transfer_listener.h"
#include "core/link/link_end.h"
#include "core/link/link_states.h"
#include "core/waits/waits.h"
#include "routing/link_news.h"

namespace torusmp::core {

class LinkManager {
  public:
    // sink: receives the packets that arrive by a detour.
    LinkManager(Commons& commons, Connections& connections, PacketSender& sender,
                FaultHandler& faults, transport::Sink& sink, TransferListener& transfers);

    // Takes over the links, which have just been opened.
    void adopt();

    // --- from transports ---
    // Whether packets of that virtual channel belong to the links, and not to messages.
    bool carries(const Connection& connection, int virtual_channel) const {
        return connection.link.has_value() && virtual_channel < vc_count_;
    }
    transport::Verdict on_packet(Connection& in, const transport::Channel& channel,
                                 const transport::PacketHeader& header, const std::byte* payload);
    void on_down(LinkEnd& end, const transport::Channel& channel, std::string_view why);
    void on_notice(LinkEnd& end, std::uint64_t notice);
    void on_transfer(LinkEnd& end, const transport::Channel& channel, std::uint64_t number,
                     bool ok);

    // Whether that channel carries the link now or may do so soon.
    bool in_use(const Connection& connection, const transport::Channel& channel) const {
        return connection.end == nullptr || &channel == connection.end->cable_ ||
               &channel == connection.end->candidate_;
    }

    // --- from link ends ---
    // Sends everything that can leave over the link's detour.
    void pump(LinkEnd& end);
    void closed(LinkEnd& end);
    void blame(LinkEnd& end, std::string_view what);
    void on_write_done(LinkEnd& end, std::uint64_t cookie);

    // --- progress ---
    // Called while commons.errands asks for it.
    bool poll();

    const LinkStates& states() const { return states_; }
    std::chrono::nanoseconds hold_down() const { return commons_.options.hold_down; }
    // True if all links that end at this rank use their cables.
    bool on_cables() const;
    LinkHoldings holdings() const;
    void report(Waits& waits) const;

  private:
    struct Setup {
        Rank source;
        Rank destination;
        int direction;
        SetupBody body;
    };
    // A link as a carrier of other links' frames, with what waits to leave by it.
    struct Hop {
        Connection* connection = nullptr;
        std::unique_ptr<LinkEnd> end;  // null for a link that dies only with its rank
        std::set<routing::Link> news;
        std::map<std::pair<Rank, int>, Setup> setups;  // by source and direction
        bool confirms = false;
    };

    Hop* hop(routing::Direction direction) {
        Hop& it = hops_[std::size_t(direction.index())];
        return it.connection != nullptr ? &it : nullptr;
    }
    LinkEnd* end_of(routing::Direction direction) {
        Hop* const it = hop(direction);
        return it != nullptr ? it->end.get() : nullptr;
    }
    static transport::Channel* cable_of(const Hop& hop) {
        return hop.end != nullptr ? hop.end->cable_ : hop.connection->channel;
    }
    template <class Act>
    void for_each_end(Act&& act) {
        for (Hop& it : hops_)
            if (it.end != nullptr && !it.end->closed_) act(*it.end, it);
    }

    // --- the states of links, and their consequences ---
    void learn(const routing::Link& link, std::uint32_t version, const Connection* heard_from);
    void settle();
    bool follow_version(LinkEnd& end, Hop& hop);
    void look_again(LinkEnd& end, bool had_met);
    void begin_session(LinkEnd& end);
    bool give_up_links();
    void give_up_parts();
    std::string describe_cut() const;
    void tell(LinkEnd& end, routing::LinkNews::State state);

    // --- control packets ---
    bool has_credit(Connection& connection, int virtual_channel);
    void send_control(Connection& connection, transport::Channel& channel, LinkFrame kind,
                      transport::ConstBytes body, const Setup* setup = nullptr);
    bool flush(Hop& hop);
    void greet(LinkEnd& end);
    bool take_news(Connection& in, const transport::PacketHeader& header, const std::byte* payload);
    bool take_hello(Connection& in, const transport::Channel& channel,
                    const transport::PacketHeader& header, const std::byte* payload);
    bool take_setup(Connection& in, const transport::Channel& channel,
                    const transport::PacketHeader& header, const std::byte* payload);
    bool take_confirm(Connection& in, const transport::Channel& channel,
                      const transport::PacketHeader& header, const std::byte* payload);
    void refuse_cable(LinkEnd& end, const transport::Channel& channel,
                      const transport::PacketHeader& header);
    bool confirm_writes(LinkEnd& end, std::uint32_t notices);
    void count_write(LinkEnd& end);
    static bool confirms_later(const LinkEnd& end, const transport::Channel& cable);

    // --- frames of dead links ---
    std::optional<LinkStates::Crossing> crossing_of(const transport::PacketHeader& header) const;
    transport::Verdict take_detoured(Connection& in, const transport::PacketHeader& header,
                                     const std::byte* payload);
    bool arrive(LinkEnd& end, const DetourBody& body, transport::ConstBytes content);
    bool arrive_packet(LinkEnd& end, transport::ConstBytes content, bool placed);
    bool arrive_piece(LinkEnd& end, transport::ConstBytes content);
    bool emit(LinkEnd& end, Connection& out, transport::Channel& cable);
    std::byte* begin_frame(LinkEnd& end, transport::Channel& cable, transport::PacketHeader& header,
                           Detoured content, std::size_t bytes);
    void end_frame(Connection& out, transport::Channel& cable, transport::PacketHeader& header);
    bool offer_held(LinkEnd& end);
    void fail_writes(LinkEnd& end);

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    FaultHandler& faults_;
    transport::Sink& sink_;
    TransferListener& transfers_;
    const int detour_vc_;
    const int control_vc_;
    const int vc_count_;  // 0 if links have no detours
    LinkStates states_;
    std::uint64_t settled_ = 0;  // digest of the states for which settle() last acted
    std::uint64_t changes_seen_ = 0;
    std::array<Hop, std::size_t(2 * routing::max_dimensions)> hops_;
    std::vector<std::uint64_t> complete_;  // buffer for confirm_writes()
};

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
// Keeps links going when cables die: spreads news of dead links, and lets the two ends of a link
// agree on its new path. Acts on the states of links (link_states.h) and handles the control
// packets that arrive; LinkControl sends them, and DetourTraffic operates detours over other ranks.
//
// docs/architecture.md, "Detours", describes the protocol, and why nothing is lost or waits
// forever.
//
// Used under the Runtime's lock.
#pragma once

#include <string>
#include <string_view>

#include "core/connection/fault_handler.h"
#include "core/connection/packet_sender.h"
#include "core/connection/transfer_listener.h"
#include "core/link/detour_traffic.h"
#include "core/link/link_carrier.h"
#include "core/link/link_control.h"
#include "core/link/link_states.h"
#include "core/waits/waits.h"
#include "routing/link_news.h"

namespace torusmp::core {

class LinkManager {
  public:
    // `sink` receives the packets that arrive by a detour.
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
    // A packet for an end that is closed.
    void on_late_packet(LinkEnd& end, const transport::Channel& channel,
                        const transport::PacketHeader& header, const std::byte* payload);
    void on_down(LinkEnd& end, const transport::Channel& channel, std::string_view why);
    void on_notice(LinkEnd& end, std::uint64_t notice);
    void on_transfer(LinkEnd& end, const transport::Channel& channel, std::uint64_t number,
                     bool ok);

    // Whether that channel carries the link now or may do so soon.
    bool in_use(const Connection& connection, const transport::Channel& channel) const {
        return connection.end == nullptr || &channel == connection.end->cable() ||
               &channel == connection.end->candidate();
    }

    // --- from link ends ---
    Rank rank() const { return commons_.rank(); }
    void pump(LinkEnd& end) { detours_.pump(end); }
    // Something waits for the next poll. For the other ranks a closed link is dead like any other;
    // core has already reported the reason.
    void wake() { commons_.errands |= Commons::links; }
    void blame(LinkEnd& end, std::string_view what);
    void on_write_end(LinkEnd& end, std::uint64_t cookie, bool ok) {
        transfers_.on_transfer_end(end.connection(), cookie, ok);
    }

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
    template <class Act>
    void for_each_end(Act&& act) {
        for (LinkCarrier& it : carriers_)
            if (it.has_open_end()) act(*it.end, it);
    }

    // --- the states of links, and their consequences ---
    void update(const routing::Link& link, std::uint32_t version, const Connection* heard_from);
    void act_on_changes();
    bool follow_version(LinkEnd& end, LinkCarrier& carrier);
    void look_again(LinkEnd& end, bool had_met, bool afresh = false);
    bool look_anew_if_apart(LinkEnd& end);
    void begin_session(LinkEnd& end);
    bool report_dead_neighbours();
    routing::Link link_of(const LinkCarrier& it) const;
    bool give_up_links();
    void give_up_parts();
    std::string describe_cut() const;
    void report_state(LinkCarrier& carrier, routing::LinkNews::State state);
    LinkSetup setup_of(const LinkEnd& end, const SetupBody& body) const;

    // --- control packets ---
    bool is_from_far_end(const Connection& in, const transport::PacketHeader& header) const;
    void greet(LinkEnd& end);
    bool take_leave(LinkEnd& end);
    void follow_farewell(LinkEnd& end);
    bool take_news(Connection& in, const transport::PacketHeader& header, const std::byte* payload);
    bool take_hello(Connection& in, const transport::Channel& channel,
                    const transport::PacketHeader& header, const std::byte* payload);
    bool take_setup(Connection& in, const transport::Channel& channel,
                    const transport::PacketHeader& header, const std::byte* payload);
    bool take_confirm(Connection& in, const transport::Channel& channel,
                      const transport::PacketHeader& header, const std::byte* payload);
    void refuse_cable(LinkEnd& end, const transport::Channel& channel,
                      const transport::PacketHeader& header);
    bool agree_on_cable(LinkEnd& end, const transport::Channel& channel, const SetupBody& body);
    bool agree_on_detour(LinkEnd& end, const SetupBody& body);

    Commons& commons_;
    Connections& connections_;
    FaultHandler& faults_;
    transport::Sink& sink_;
    TransferListener& transfers_;
    const int detour_vc_;
    const int control_vc_;
    const int vc_count_;  // 0 if links have no detours
    LinkStates states_;
    std::uint64_t acted_on_ = 0;  // digest of the states for which act_on_changes() last acted
    std::uint64_t changes_seen_ = 0;
    LinkCarriers carriers_;
    LinkControl control_;
    DetourTraffic detours_;
};

}  // namespace torusmp::core

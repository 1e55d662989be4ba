// SPDX-License-Identifier: BSD-3-Clause
// Sends the control packets that ranks exchange about links: news, hellos, setups and confirmations
// (frames.h). LinkManager handles those that arrive.
//
// Used under the Runtime's lock.
#pragma once

#include "core/connection/packet_sender.h"
#include "core/link/link_carrier.h"
#include "core/link/link_states.h"

namespace torusmp::core {

class LinkControl {
  public:
    // `virtual_channel` carries the control packets.
    LinkControl(Commons& commons, PacketSender& sender, const LinkStates& states,
                int virtual_channel)
        : commons_(commons), sender_(sender), states_(states), virtual_channel_(virtual_channel) {}

    // Sends what is queued on this link, as far as credits allow: news first, see
    // LinkManager::act_on_changes(). Returns true if something left.
    bool flush(LinkCarrier& carrier);
    // Sends a hello over the candidate, if one is owed and there is a credit.
    void greet(LinkEnd& end);
    // Sends a farewell over the candidate of a closed end, once. It needs no credit, because it is
    // the first packet over that cable.
    void take_leave(LinkEnd& end);

  private:
    void send(Connection& connection, transport::Channel& channel, LinkFrame kind,
              transport::ConstBytes body, const LinkSetup* setup = nullptr);
    transport::PacketHeader header_of(const Connection& connection, LinkFrame kind,
                                      std::size_t bytes) const;
    bool has_credit(Connection& connection) {
        return sender_.has_credit(connection, virtual_channel_);
    }

    Commons& commons_;
    PacketSender& sender_;
    const LinkStates& states_;
    const int virtual_channel_;
};

}  // namespace torusmp::core

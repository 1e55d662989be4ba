// SPDX-License-Identifier: BSD-3-Clause
// The path of dead links' frames: out of one end, past the ranks in between, into the other.
//
// Used under the Runtime's lock.
#pragma once

#include "core/connection/fault_handler.h"
#include "core/connection/packet_sender.h"
#include "core/connection/transfer_listener.h"
#include "core/link/link_carrier.h"
#include "core/link/link_states.h"

namespace torusmp::core {

class DetourTraffic {
  public:
    // `sink` receives the packets that arrive by a detour. `virtual_channel` carries the frames.
    DetourTraffic(Commons& commons, PacketSender& sender, FaultHandler& faults,
                  transport::Sink& sink, TransferListener& transfers, const LinkStates& states,
                  LinkCarriers& carriers, int virtual_channel)
        : commons_(commons),
          sender_(sender),
          faults_(faults),
          sink_(sink),
          transfers_(transfers),
          states_(states),
          carriers_(carriers),
          virtual_channel_(virtual_channel) {}

    // Sends everything that can leave over the link's detour.
    void pump(LinkEnd& end);
    // Takes a frame, or passes it on. Precondition: LinkManager has acted on all known states.
    transport::Verdict take(Connection& in, const transport::PacketHeader& header,
                            const std::byte* payload);

  private:
    transport::Verdict pass_on(Connection& in, LinkCarrier& out,
                               const transport::PacketHeader& header, const std::byte* payload);
    bool arrive(LinkEnd& end, const DetourBody& body, transport::ConstBytes content);
    bool arrive_packet(LinkEnd& end, transport::ConstBytes content, bool placed);
    bool arrive_piece(LinkEnd& end, transport::ConstBytes content);

    Commons& commons_;
    PacketSender& sender_;
    FaultHandler& faults_;
    transport::Sink& sink_;
    TransferListener& transfers_;
    const LinkStates& states_;
    LinkCarriers& carriers_;
    const int virtual_channel_;
};

}  // namespace torusmp::core

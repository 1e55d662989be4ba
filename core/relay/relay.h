// SPDX-License-Identifier: BSD-3-Clause
// Packets for others: forwarded along the shortest-direction-first path, straight from the slot in
// which they arrived. If the next hop is the last one, and the channel can, the payload of a large
// message goes straight to its place in the receiver's memory, and only its description into a
// slot. The receiver made the key of that memory for this very link, and counts what is announced
// as placed as it counts what it copies: a rank that lies about it harms only its own message.
//
// No deadlock: a packet's virtual channel is the number of dimensions it has finished, so a packet
// only ever moves to a higher virtual channel; inside one virtual channel of one ring, a packet may
// enter only where two slots are free, and move on where one is, so a ring always keeps a bubble
// (bubble flow control, Puente et al. 2001).
#pragma once

#include "core/connection/packet_sender.h"

namespace torusmp::core {

class Relay {
  public:
    Relay(Commons& commons, Connections& connections, PacketSender& sender, FaultHandler& faults)
        : commons_(commons), connections_(connections), sender_(sender), faults_(faults) {}

    // A packet for another rank: sent on, dropped, or held until there is a credit.
    transport::Verdict pass_on(Connection& in, const transport::PacketHeader& header,
                               const std::byte* payload);

  private:
    bool into_place(Connection& out, transport::PacketHeader& header, const std::byte* payload);

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    FaultHandler& faults_;
};

}  // namespace torusmp::core

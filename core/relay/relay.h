// SPDX-License-Identifier: BSD-3-Clause
// Packets for other ranks are forwarded along the paths of routing/ways.h, straight from the slot
// in which they arrived. If the next hop is the last one, and the channel can do so, the payload of
// a large message is written straight to its place in the receiver's memory, and only its
// description into a slot. The receiver made the key of that memory for this very link, and counts
// bytes announced as placed like bytes that it copies: a rank that lies about them harms only its
// own message.
//
// The relay cannot deadlock. A packet's virtual channel is the number of dimensions it has
// finished, so a packet only ever moves to a higher virtual channel. Inside one virtual channel of
// one ring, a packet may enter only if two slots are free, and move on only if one is, so a ring
// always keeps a bubble (bubble flow control, Puente et al. 2001). On a graph the virtual channel
// is the number of turns from down to up (docs/architecture.md, "Any graph"). After a death all
// packets take the paths of FarEnds, on virtual channel 0.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/connection/packet_sender.h"
#include "core/far/far_ends.h"

namespace torusmp::core {

class Relay {
  public:
    Relay(Commons& commons, Connections& connections, PacketSender& sender, FarEnds& far_ends,
          FaultHandler& faults)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          far_ends_(far_ends),
          faults_(faults) {}

    // Forwards, drops, or holds (until there is a credit) a packet for another rank.
    transport::Verdict pass_on(Connection& in, const transport::PacketHeader& header,
                               const std::byte* payload);

  private:
    Connection* onward(Rank destination, routing::Direction port);
    std::optional<transport::Verdict> stop(Connection& in, const transport::PacketHeader& header,
                                           const std::byte* payload);
    bool into_place(Connection& out, transport::PacketHeader& header, const std::byte* payload);

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    FarEnds& far_ends_;
    FaultHandler& faults_;
    // The index, plus one, of the link on which packets leave, by their destination and the index
    // of the link on which they have come; 0 until it is computed.
    std::vector<std::array<std::uint8_t, 2 * routing::max_dimensions>> onward_;
};

}  // namespace torusmp::core

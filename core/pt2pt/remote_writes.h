// SPDX-License-Identifier: BSD-3-Clause
// Large messages written into the receiver's memory without a copy, if the channel can do so: over
// one cable, or a part over each cable to the same neighbour. Parts that cannot be written
// are sent as a stream.
#pragma once

#include "core/connection/packet_sender.h"
#include "core/pt2pt/sends.h"
#include "core/pt2pt/streams.h"

namespace torusmp::core {

class RemoteWrites {
  public:
    RemoteWrites(Commons& commons, Connections& connections, PacketSender& sender, Sends& sends,
                 Streams& streams)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          sends_(sends),
          streams_(streams) {}

    // Sends the message into memory that the receiver has named. `tell_matched` means that the
    // receiver does not yet know that this message uses that receive handle.
    void begin(SendRequest& request, const Target& target, bool tell_matched);
    // A pending write of this message, or of one part of it, has ended.
    void on_part_end(Connection& connection, std::uint32_t send_handle, bool ok);

  private:
    transport::Transfer write(SendRequest& request, Connection& connection, const Peer& peer,
                              const transport::RemoteMemory& memory, Cables& cables);
    transport::Transfer write_part(SendRequest& request, Connection& connection,
                                   const transport::RemoteMemory& memory, std::size_t from,
                                   std::size_t bytes);
    transport::Transfer write_layout(SendRequest& request, Connection& connection,
                                     const transport::RemoteMemory& memory);
    transport::Transfer write_pieces(SendRequest& request, Connection& connection,
                                     const transport::RemoteMemory& memory);
    int cables_to(const Peer& peer, const transport::RemoteMemory& memory, Cables& cables) const;
    void tell_written(SendRequest& request, Connection& connection);

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    Sends& sends_;
    Streams& streams_;
};

}  // namespace torusmp::core

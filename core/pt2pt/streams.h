// SPDX-License-Identifier: BSD-3-Clause
// Large messages in packets, for receivers whose memory cannot be written from here: piece by
// piece, over one link or over all shortest paths at the same time.
#pragma once

#include "core/connection/packet_sender.h"
#include "core/pt2pt/sends.h"

namespace torusmp::core {

// Where the receiver wants the bytes of a message.
struct Target {
    std::uint32_t receive_handle;
    const transport::RemoteMemory& memory;
    // Large messages of many ranks arrive there, so this one keeps to its shares of the ways.
    bool converging = false;
};

class Streams final : private SendRequest::Sender {
  public:
    Streams(Commons& commons, Connections& connections, PacketSender& sender, Sends& sends)
        : commons_(commons), connections_(connections), sender_(sender), sends_(sends) {}

    // Sends the message to its receive handle. The last relay uses the memory of `target`.
    // `tell_matched` as in RemoteWrites::begin().
    void start(SendRequest& request, Peer& peer, Connection& way, const Target& target,
               bool tell_matched);

  private:
    bool begin_with_match(SendRequest& request, Peer& peer, Connection& way);
    void send_piece(SendRequest& request, Connection& connection, transport::PacketHeader& header,
                    transport::ConstBytes body);
    bool emit(SendRequest& request, Connection& connection) override;
    void drop(SendRequest& request, Error error) override { sends_.finish(request, error); }
    void spread(SendRequest& request, Peer& peer, bool converging);
    const routing::WayShares& shares_to(Peer& peer);
    transport::RemoteAddress place_of(const SendRequest& request, Peer& peer,
                                      const Connection& connection);

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    Sends& sends_;
};

}  // namespace torusmp::core

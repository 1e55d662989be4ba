// SPDX-License-Identifier: BSD-3-Clause
// Declared channels: the ends count their starts, and nothing is matched.
//
// Handles flow_open, flow_eager, flow_request and flow_ready.
#pragma once

#include <memory>
#include <vector>

#include "core/connection/packet_sender.h"
#include "core/declared/flow.h"
#include "core/pt2pt/messages.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class DeclaredChannels final : public PeerLossListener {
  public:
    DeclaredChannels(Commons& commons, Connections& connections, PacketSender& sender,
                     UnexpectedStore& store, Sends& sends, Receives& receives, RemoteWrites& writes,
                     Rendezvous& rendezvous, Messages& messages)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          store_(store),
          sends_(sends),
          receives_(receives),
          writes_(writes),
          rendezvous_(rendezvous),
          messages_(messages),
          peers_(std::size_t(connections.size())) {}
    ~DeclaredChannels();
    DeclaredChannels(const DeclaredChannels&) = delete;
    DeclaredChannels& operator=(const DeclaredChannels&) = delete;

    SendFlow& open_send(Rank dest, FlowKey key);
    ReceiveFlow& open_receive(Rank source, FlowKey key);
    // For `followed` see Flows.
    void start(SendFlow& flow, SendRequest& request, Buffer buffer, bool followed);
    void start(ReceiveFlow& flow, ReceiveRequest& request, Buffer buffer);

    bool on_open(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_eager(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_rts(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_rtr(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);

    void peer_lost(Peer& peer, Error error) override;
    void report(Waits& waits) const;

  private:
    struct Flows {                                 // the flows with one peer
        std::vector<ReceiveFlow*> receive_labels;  // by the peer's labels, of flows it sends on
        std::vector<SendFlow*> send_labels;        // the same, of flows it receives on
        std::vector<std::unique_ptr<SendFlow>> sends;
        std::vector<std::unique_ptr<ReceiveFlow>> receives;
    };
    Flows& with(Rank peer) { return peers_[std::size_t(peer)]; }
    template <class Flow>
    Flow& open(std::vector<std::unique_ptr<Flow>>& flows, Rank peer, FlowKey key, bool sends);

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    UnexpectedStore& store_;
    Sends& sends_;
    Receives& receives_;
    RemoteWrites& writes_;
    Rendezvous& rendezvous_;
    Messages& messages_;
    std::vector<Flows> peers_;
};

}  // namespace torusmp::core

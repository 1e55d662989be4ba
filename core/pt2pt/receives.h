// SPDX-License-Identifier: BSD-3-Clause
// The receives whose memory a peer may write to, by id: a receive handle names the memory of one
// message. A receive is complete when the match is known and every byte has arrived, in any order.
//
// Handles matched, data and written, and the notices of remote writes.
#pragma once

#include "base/assert.h"
#include "core/connection/connections.h"
#include "core/connection/fault_handler.h"
#include "core/declared/flow.h"
#include "core/match/match_state.h"
#include "core/match/matching.h"
#include "core/pt2pt/id_table.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class Receives final : public PeerLossListener {
  public:
    Receives(Commons& commons, Connections& connections, Matching& matching, MatchStates& states,
             FaultHandler& faults)
        : commons_(commons),
          connections_(connections),
          matching_(matching),
          states_(states),
          faults_(faults) {}

    // Gives the receive an id under which its memory may be written, and returns the name of that
    // memory. Length 0 if the memory has none, so that the bytes must arrive in packets.
    transport::RemoteMemory open(ReceiveRequest& request, Peer& peer);
    void close(ReceiveRequest& request);
    void finish(ReceiveRequest& request, Error error = Error::none) {
        TORUSMP_ASSERT(!request.posted(), commons_.rank(), request.peer_, request.receive_handle_);
        close(request);
        request.become(ReceiveRequest::Stage::idle);
        commons_.complete(request, error);
    }
    // Whether large messages of many ranks arrive here, or are about to. One or two at a time are
    // faster in equal parts by all their ways.
    bool converging() const { return sources_ > 2; }
    ReceiveRequest* find(std::uint32_t receive_handle) const {
        return receive_handles_.find(receive_handle);
    }

    bool on_matched(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_data(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_written(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    void on_notice(Connection& connection, std::uint64_t notice);

    void peer_lost(Peer& peer, Error error) override;
    void report(Waits& waits) const;
    template <class Visit>
    void for_each(Visit&& visit) const {
        receive_handles_.for_each(visit);
    }

  private:
    bool part_written(const Peer& peer, const WrittenBody& body);
    void finish_if_landed(ReceiveRequest& request);

    Commons& commons_;
    Connections& connections_;
    Matching& matching_;
    MatchStates& states_;
    FaultHandler& faults_;
    IdTable<ReceiveRequest> receive_handles_;
    int sources_ = 0;  // ranks from which a receive has an id
};

}  // namespace torusmp::core

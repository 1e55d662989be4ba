// SPDX-License-Identifier: BSD-3-Clause
// The sends that a peer may refer to, by id, and their end.
#pragma once

#include "core/connection/connections.h"
#include "core/connection/fault_handler.h"
#include "core/match/flow.h"
#include "core/pt2pt/id_table.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class Sends final : public PeerLossListener {
  public:
    Sends(Commons& commons, const Connections& connections)
        : commons_(commons), connections_(connections) {}

    // Gives the request an id, unless it has one.
    void name(SendRequest& request) {
        if (request.send_handle_ == 0) request.send_handle_ = send_handles_.add(request);
    }
    SendRequest* find(std::uint32_t send_handle) const { return send_handles_.find(send_handle); }
    // The send of ours that a peer's answer refers to, no longer waiting; null if the peer may not
    // refer to it.
    SendRequest* take_answered(const Peer& peer, std::uint32_t send_handle);
    void finish(SendRequest& request, Error error = Error::none);

    void peer_lost(Peer& peer, Error error) override;
    void report(Waits& waits) const;
    template <class Visit>
    void for_each(Visit&& visit) const {
        send_handles_.for_each(visit);
    }

  private:
    Commons& commons_;
    const Connections& connections_;
    IdTable<SendRequest> send_handles_;
};

}  // namespace torusmp::core

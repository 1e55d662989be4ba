// SPDX-License-Identifier: BSD-3-Clause
// The sends that a peer may refer to, by id, and their completion.
#pragma once

#include "base/assert.h"
#include "core/connection/connections.h"
#include "core/connection/fault_handler.h"
#include "core/declared/flow.h"
#include "core/pt2pt/id_table.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class Sends final : public PeerLossListener {
  public:
    Sends(Commons& commons, const Connections& connections)
        : commons_(commons), connections_(connections) {}

    // Gives the request an id if it has none.
    void name(SendRequest& request) {
        if (request.send_handle_ == 0) request.send_handle_ = send_handles_.add(request);
        TORUSMP_ASSERT(find(request.send_handle_) == &request, request.peer_, request.send_handle_);
    }
    // Whether ids are left for messages that cannot do without one.
    bool has_room() const { return send_handles_.has_room(); }
    SendRequest* find(std::uint32_t send_handle) const { return send_handles_.find(send_handle); }
    // Finds our send that a peer's answer refers to, and ends its wait. Null if the peer may not
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

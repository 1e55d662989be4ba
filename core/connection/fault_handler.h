// SPDX-License-Identifier: BSD-3-Clause
// Interfaces by which the modules below report a broken connection, and by which the modules that
// keep state for a lost peer are notified. The module Faults is above all of them.
#pragma once

#include <string>
#include <string_view>

#include "core/connection/peer.h"
#include "core/request.h"

namespace torusmp::core {

class FaultHandler {
  public:
    // Ends a connection; Error::protocol if its peer violated the protocol. `sight` describes the
    // rank that saw the fault and what it saw, if it was another rank.
    virtual void close(Connection& connection, Error error, std::string_view why,
                       std::string sight = {}) = 0;
    // Ends everything that waits for this peer.
    virtual void lose(Peer& peer, Error error, std::string why) = 0;
    // Reports the text of a fault to Options::log_fault or, if that is empty, to log.
    virtual void tell_fault(const std::string& text) = 0;
    // Ends the connections that could not be made.
    virtual void close_unreached() = 0;

  protected:
    ~FaultHandler() = default;
};

class PeerLossListener {
  public:
    // Ends everything that waits for this peer with `error`. Transfers that a transport is still
    // working on end later, through on_transfer_end(); until then the transport uses the caller's
    // memory.
    virtual void peer_lost(Peer& peer, Error error) = 0;
    // The launcher reports the death of this peer, which is lost already; or has had the time to,
    // so the peer lives and is cut off (Peer::cut_off).
    virtual void peer_judged(Peer& /*peer*/) {}

  protected:
    ~PeerLossListener() = default;
};

}  // namespace torusmp::core

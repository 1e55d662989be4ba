// SPDX-License-Identifier: BSD-3-Clause
// How the modules below report that a connection cannot go on, and how those that keep something
// for a lost peer are told. The module Faults is above them all.
#pragma once

#include <string>
#include <string_view>

#include "core/connection/peer.h"
#include "core/request.h"

namespace torusmp::core {

class FaultHandler {
  public:
    // Ends a connection; Error::protocol: its peer sent what it must not. `sight`: who saw what, if
    // another rank did.
    virtual void close(Connection& connection, Error error, std::string_view why,
                       std::string sight = {}) = 0;
    // Ends everything that waits for this peer.
    virtual void lose(Peer& peer, Error error, std::string why) = 0;
    // Reports what went wrong to who knows whether it is news.
    virtual void tell_fault(const std::string& text) = 0;
    // Ends the connections that could not be made.
    virtual void close_unreached() = 0;

  protected:
    ~FaultHandler() = default;
};

class PeerLossListener {
  public:
    // Ends with `error` everything that waits for this peer. Transfers that a transport still works
    // on end later, through on_transfer(): until then it uses the caller's memory.
    virtual void peer_lost(Peer& peer, Error error) = 0;

  protected:
    ~PeerLossListener() = default;
};

}  // namespace torusmp::core

// What the modules below say when a connection cannot go on, and what those hear that keep
// something for a peer which is lost. Faults stands above them all.
#pragma once

#include <string>
#include <string_view>

#include "core/connection/peer.h"
#include "core/request.h"

namespace torusmp::core {

class FaultHandler {
  public:
    // Ends a connection; Error::protocol: its peer sent what it may not. `sight`: who saw what,
    // where another rank did.
    virtual void close(Connection& connection, Error error, std::string_view why,
                       std::string sight = {}) = 0;
    // Ends the connections that could not be made.
    virtual void close_unreached() = 0;

  protected:
    ~FaultHandler() = default;
};

class PeerLossListener {
  public:
    // Ends with `error` all that waits for this peer. What a transport still works on ends later,
    // through on_transfer(): until then it uses the caller's memory.
    virtual void peer_lost(Peer& peer, Error error) = 0;

  protected:
    ~PeerLossListener() = default;
};

}  // namespace torusmp::core

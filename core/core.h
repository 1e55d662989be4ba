// SPDX-License-Identifier: BSD-3-Clause
// The modules of one rank; each is made from those declared above it here. Only the facade uses
// this.
#pragma once

#include "core/commons.h"
#include "core/connection/connections.h"
#include "core/connection/packet_sender.h"
#include "core/connection/shortcuts.h"
#include "core/declared/declared_channels.h"
#include "core/dispatch/dispatcher.h"
#include "core/dispatch/packet_trace.h"
#include "core/far/far_ends.h"
#include "core/fault/faults.h"
#include "core/link/link_manager.h"
#include "core/match/match_state.h"
#include "core/match/matching.h"
#include "core/match/unexpected_store.h"
#include "core/notes/notes.h"
#include "core/page/publisher.h"
#include "core/progress/progress.h"
#include "core/pt2pt/announcements.h"
#include "core/pt2pt/cancellation.h"
#include "core/pt2pt/messages.h"
#include "core/pt2pt/receives.h"
#include "core/pt2pt/remote_writes.h"
#include "core/pt2pt/rendezvous.h"
#include "core/pt2pt/sends.h"
#include "core/pt2pt/streams.h"
#include "core/relay/relay.h"
#include "core/rma/windows.h"
#include "core/sharing/shared_memory.h"
#include "core/survivors/agreements.h"
#include "core/survivors/revocations.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class Core {
  public:
    Core(Options options, const InterfaceFactory& make_interface,
         std::vector<LinkTransport> link_transports);
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    Waits waits() const;

    Commons commons;
    Connections connections;
    PacketSender sender;
    Shortcuts shortcuts;
    FarEnds far_ends;
    UnexpectedStore store;
    Matching matching;
    MatchStates match_states;
    Sends sends;
    Receives receives;
    Streams streams;
    RemoteWrites writes;
    Rendezvous rendezvous;
    Announcements announcements;
    Messages messages;
    Cancellation cancellation;
    DeclaredChannels declared;
    Relay relay;
    Faults faults;
    LinkManager links;
    Dispatcher dispatcher;
    PacketTrace packet_trace;
    Progress progress;
    Publisher publisher;
    Notes notes;
    SharedMemory shared;
    rma::Windows windows;
    Agreements agreements;
    Revocations revocations;
    std::vector<const Reporter*> reporters;  // reporters of the layers above

  private:
    void register_handlers();
};

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
#include "core/core.h"

#include "base/trace.h"

namespace torusmp::core {

// Some modules refer to others that are made later; they keep the reference and use it later.
Core::Core(Options options, const InterfaceFactory& make_interface,
           std::vector<LinkTransport> link_transports)
    : commons(std::move(options)),
      connections(commons, make_interface, std::move(link_transports)),
      sender(commons, connections, faults),
      shortcuts(commons, connections, sender),
      far_ends(commons, connections, sender),
      store(commons, connections, sender),
      match_states(connections.size()),
      sends(commons, connections),
      receives(commons, connections, matching, match_states, faults),
      streams(commons, connections, sender, sends),
      writes(commons, connections, sender, sends, streams),
      rendezvous(commons, connections, sender, store, matching, match_states, sends, receives,
                 writes),
      announcements(commons, connections, sender, matching, match_states, receives),
      messages(commons, connections, sender, store, matching, match_states, sends, receives, writes,
               rendezvous, announcements),
      cancellation(commons, connections, sender, store, matching, match_states, sends, receives,
                   dispatcher),
      declared(commons, connections, sender, store, sends, receives, writes, rendezvous, messages),
      relay(commons, connections, sender, far_ends, faults),
      faults(commons, connections, sender, far_ends,
             {&messages, &declared, &receives, &sends, &shortcuts, &far_ends, &windows, &agreements,
              &revocations}),
      links(commons, connections, sender, faults, dispatcher, rendezvous),
      dispatcher(commons, connections, sender, relay, faults, rendezvous, links, shortcuts),
      packet_trace(commons, dispatcher),
      progress(
          commons, connections, sender, faults, links, shortcuts, packet_trace.sink(),
          [this] { return waits(); },
          [this](const Waiting* waiting) { publisher.publish(waiting); }),
      publisher(commons, connections, matching, sends, receives, progress, windows),
      notes(commons, connections, sender, store, matching, faults, progress),
      shared(connections),
      windows(commons, connections, sender, progress, shared, messages),
      agreements(commons, connections, sender, progress, shared),
      revocations(commons, connections, sender, progress) {
    register_handlers();
}

Core::~Core() {
    progress.stop();
    const Progress::Guard guard(progress);
    for (const auto& connection : connections.all())
        PacketSender::drop_queues(*connection, Error::cancelled);
}

void Core::register_handlers() {
    Dispatcher& to = dispatcher;
    to.handle<&Messages::on_eager>(PacketKind::eager, messages);
    to.handle<&Rendezvous::on_rts>(PacketKind::rts, rendezvous);
    to.handle<&Rendezvous::on_cts>(PacketKind::cts, rendezvous);
    to.handle<&Rendezvous::on_fin>(PacketKind::fin, rendezvous);
    to.handle<&Receives::on_matched>(PacketKind::matched, receives);
    to.handle<&Receives::on_data>(PacketKind::data, receives);
    to.handle<&Receives::on_written>(PacketKind::written, receives);
    to.handle<&Announcements::on_rtr>(PacketKind::rtr, announcements);
    to.handle<&Announcements::on_refuse>(PacketKind::refuse, announcements);
    to.handle<&Cancellation::on_withdraw>(PacketKind::withdraw, cancellation);
    to.handle<&Cancellation::on_withdrawn>(PacketKind::withdrawn, cancellation);
    to.handle<&Cancellation::on_retract>(PacketKind::retract, cancellation);
    to.handle<&Cancellation::on_retracted>(PacketKind::retracted, cancellation);
    to.handle<&UnexpectedStore::on_hold>(PacketKind::hold, store);
    to.handle<&Notes::on_note>(PacketKind::note, notes);
    to.handle<&DeclaredChannels::on_open>(PacketKind::flow_open, declared);
    to.handle<&DeclaredChannels::on_eager>(PacketKind::flow_eager, declared);
    to.handle<&DeclaredChannels::on_rts>(PacketKind::flow_rts, declared);
    to.handle<&DeclaredChannels::on_rtr>(PacketKind::flow_rtr, declared);
    to.handle<&rma::Windows::on_ask>(PacketKind::window_ask, windows);
    to.handle<&rma::Windows::on_answer>(PacketKind::window_answer, windows);
    to.handle<&Agreements::on_agreement>(PacketKind::agreement, agreements);
    to.handle<&Revocations::on_revoke>(PacketKind::revoke, revocations);
}

Waits Core::waits() const {
    const Progress::Guard guard(progress);
    Waits waits;
    waits.rank = commons.rank();
    waits.ranks = connections.size();
    messages.report(waits);
    store.report(waits);
    declared.report(waits);
    dispatcher.report(waits);
    receives.report(waits);
    sends.report(waits);
    windows.report(waits);
    agreements.report(waits);
    sender.report(waits);
    links.report(waits);
    shortcuts.report(waits);
    far_ends.report(waits);
    for (const Reporter* reporter : reporters) reporter->report(waits);
    progress.report(waits);
    for (const transport::Interface* it : connections.interfaces())
        if (std::string counted = it->statistics(); !counted.empty())
            waits.counters.push_back(std::move(counted));
    waits.trace = base::trace_lines(commons.rank());
    return waits;
}

}  // namespace torusmp::core

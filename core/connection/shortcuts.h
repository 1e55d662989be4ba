// SPDX-License-Identifier: BSD-3-Clause
// Shortcuts: connections to ranks beyond the links, forwarded by the kernels between, for what
// waking a process on every hop would slow down most: the sequenced packets, which are small. Large
// messages, and all that has no place in the order, stay on the relay.
//
// A shortcut is made when a number of packets have gone to a rank by relay, and used once both ends
// have met: that is the proof that the kernels forward. All sequenced packets to a rank take one
// way at a time. A change to the shortcut overtakes what is still being relayed, so the receiver
// holds a packet of a shortcut until its turn has come. A change back happens when the shortcut is
// lost: what the far end is not known to have taken goes once more, by relay, ahead of all that
// follows, and the far end drops what it has had, by its number. So nothing is lost, comes twice or
// out of order, whenever shortcuts die, and closing one that works is the same as losing it.
// docs/architecture.md says more.
//
// Used under the Runtime's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/connection/fault_handler.h"
#include "core/connection/packet_sender.h"
#include "core/connection/shortcut_counts.h"
#include "core/connection/shortcut_end.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class Shortcuts final : public PeerLossListener {
  public:
    Shortcuts(Commons& commons, Connections& connections, PacketSender& sender)
        : commons_(commons), connections_(connections), sender_(sender) {}

    // Called while commons.errands asks for it. True: something has changed.
    bool poll();
    void on_down(ShortcutEnd& end, const transport::Channel& channel);
    // Something has come by it.
    void touch(Connection& shortcut) { shortcut.used = ++clock_; }

    // PeerLossListener
    void peer_lost(Peer& peer, Error error) override;

    ShortcutCounts counts() const;
    void report(Waits& waits) const;

  private:
    ShortcutEnd* open_end(const Peer& peer) const;
    void make(Peer& peer);
    void make_room();
    void close(ShortcutEnd& end, std::string_view why);
    void lose(ShortcutEnd& end);

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    std::vector<std::unique_ptr<ShortcutEnd>> ends_;  // all that ever were, one a peer at most
    std::vector<ShortcutEnd*> open_;
    std::uint64_t clock_ = 0;  // packets by all shortcuts
    ShortcutCounts counts_;
};

}  // namespace torusmp::core

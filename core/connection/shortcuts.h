// SPDX-License-Identifier: BSD-3-Clause
// Shortcuts: connections to ranks beyond the links, forwarded by the kernels of the hosts between.
// They carry the sequenced packets, which are small and which waking a process on every hop would
// slow down most. Large messages, and all unsequenced packets, stay on the relay.
//
// A shortcut is made when a number of packets to a rank have been relayed, and is used once both
// ends have met, which proves that the kernels forward. All sequenced packets to a rank take one
// path at a time. After a switch to the shortcut, packets may overtake those still being relayed,
// so the receiver holds each until its turn. A switch back happens when the shortcut is lost: the
// packets that the far end is not known to have taken are sent again by relay, ahead of all that
// follow, and the far end drops duplicates by their sequence numbers. So nothing is lost,
// duplicated or reordered, whenever shortcuts die, and closing a working one is the same as losing
// it. See docs/architecture.md.
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

    // Called while commons.errands asks for it. Returns true if something has changed.
    bool poll();
    void on_down(ShortcutEnd& end, const transport::Channel& channel);
    // Records that something has arrived over it.
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
    std::vector<std::unique_ptr<ShortcutEnd>> ends_;  // all ever made, at most one per peer
    std::vector<ShortcutEnd*> open_;
    std::uint64_t clock_ = 0;  // packets over all shortcuts
    ShortcutCounts counts_;
};

}  // namespace torusmp::core

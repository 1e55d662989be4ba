// SPDX-License-Identifier: BSD-3-Clause
// A rank's state for one neighbour over one link, or for one direct peer: the channel, the credits
// of both directions, and the packets that wait for credits.
//
// Owned by Connections and used under the Runtime's lock.
#pragma once

#include <cstdint>
#include <optional>

#include "base/assert.h"
#include "core/connection/credits.h"
#include "core/connection/held_packets.h"
#include "core/connection/outgoing_queue.h"
#include "core/packets.h"
#include "core/transport/api/channel.h"
#include "routing/torus.h"

namespace torusmp::core {

class FarEnd;
class LinkEnd;
class ShortcutEnd;

struct Statistics {
    std::uint64_t packets_sent = 0;
    std::uint64_t bytes_sent = 0;  // payload in packets
    std::uint64_t packets_received = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t bytes_written = 0;  // by our remote writes
    std::uint64_t bytes_read = 0;     // by our remote reads
    std::uint64_t relayed = 0;        // packets sent here that came from another connection
    std::uint64_t bytes_relayed = 0;
    std::uint64_t rendezvous = 0;  // our large messages
    std::uint64_t streamed = 0;    // packets that carry pieces of them
    std::uint64_t bytes_streamed = 0;
    std::uint64_t control = 0;  // packets of the protocol itself
    std::uint64_t bytes_control = 0;
    std::uint64_t placed = 0;  // relayed packets whose payload was placed in the receiver's memory
    std::uint64_t credit_waits = 0;  // times a packet had to wait for a credit
    std::uint64_t grants_sent = 0;   // explicit returns of credits
    std::uint64_t resent = 0;        // packets and writes not confirmed when their path died

    // Bytes sent, headers included.
    std::uint64_t load() const {
        return bytes_sent + packets_sent * sizeof(transport::PacketHeader);
    }
    void count_control(std::size_t bytes) {
        ++control;
        bytes_control += bytes;
    }
    void count_relayed(std::size_t bytes) {
        ++relayed;
        bytes_relayed += bytes;
    }
};

struct Connection {
    std::string_view transport() const {
        if (far != nullptr) return "relay";
        return interface != nullptr ? interface->name() : std::string_view("self");
    }
    bool down() const { return down_; }
    // Resets the connection to its state before any traffic.
    void come_up(const Credits& fresh) {
        TORUSMP_ASSERT(fresh.hold_invariant() && fresh.granted() == fresh.limit() &&
                           fresh.owed() == 0 && messages.empty() && streams.empty(),
                       peer, fresh.granted(), fresh.limit(), fresh.owed());
        credits = fresh;
        held.release_all();
        down_ = false;
    }
    // Nothing more leaves by it, and what arrives is dropped. May be called again.
    void go_down() {
        down_ = true;
        held.release_all();
    }

    transport::Channel* channel = nullptr;
    // The transport's own channel, for which memory is registered. Null while there is none: then
    // memory is registered for all links.
    transport::Channel* cable = nullptr;
    LinkEnd* end = nullptr;                     // null if the connection ends with its cable
    ShortcutEnd* shortcut = nullptr;            // null if the connection is not a shortcut
    FarEnd* far = nullptr;                      // null if the connection is not to a far rank
    transport::Interface* interface = nullptr;  // the channel's; null if it is one of core's own
    Credits credits;
    HeldPackets held;
    bool queued = false;  // is in the backlog of PacketSender
    // Statistics::load() when the queues were last flushed in a poll.
    std::uint64_t load_at_poll = 0;
    std::size_t fragment = 0;  // payload bytes in each packet of a large message
    std::uint64_t used = 0;    // the clock of Shortcuts at the last use of a shortcut
    bool misled = false;       // packets arrived here that belong elsewhere; reported once
    Rank peer = -1;
    std::optional<routing::Direction> link;
    // Bit mask, by link index: the links on which packets that arrived here move to the next
    // virtual channel.
    std::uint16_t turns = 0;
    int virtual_channels = 1;  // 0 for a shortcut, whose packets the dispatcher handles separately

    OutgoingQueue messages;  // control and eager packets, in FIFO order
    OutgoingQueue streams;   // large messages sent in packets, in turns, after the messages
    Statistics statistics;
    // Statistics::packets_sent after the last piece of a large message on virtual channel 0.
    std::uint64_t last_piece = 0;

  private:
    bool down_ = false;
};

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
// A rank's state for one neighbour over one link, or for one direct peer: the channel, the credits
// of both directions, and the packets that wait for credits.
//
// Owned by Connections and used under the Runtime's lock.
#pragma once

#include <cstdint>
#include <optional>

#include "core/packets.h"
#include "core/request.h"
#include "core/transport/api/channel.h"
#include "routing/torus.h"

namespace torusmp::core {

class LinkEnd;
class ShortcutEnd;

struct Statistics {
    std::uint64_t packets_sent = 0;
    std::uint64_t bytes_sent = 0;  // payload in packets
    std::uint64_t packets_received = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t bytes_written = 0;  // by remote writes of ours
    std::uint64_t bytes_read = 0;     // by remote reads of ours
    std::uint64_t relayed = 0;        // packets sent here that came from another connection
    std::uint64_t bytes_relayed = 0;
    std::uint64_t rendezvous = 0;  // large messages of ours
    std::uint64_t streamed = 0;    // packets that carry pieces of them
    std::uint64_t bytes_streamed = 0;
    std::uint64_t control = 0;  // packets of the protocol's own
    std::uint64_t bytes_control = 0;
    std::uint64_t placed = 0;  // of these, those whose payload we put in the receiver's memory
    std::uint64_t credit_waits = 0;  // times a packet had to wait for a credit
    std::uint64_t grants_sent = 0;   // explicit returns of credits
    std::uint64_t resent = 0;        // packets and writes not taken when their way died

    void count_control(std::size_t bytes) {
        ++control;
        bytes_control += bytes;
    }
    void count_relayed(std::size_t bytes) {
        ++relayed;
        bytes_relayed += bytes;
    }
};

// FIFO of things that wait for credits, linked through them.
class OutgoingQueue {
  public:
    bool empty() const { return head_ == nullptr; }
    Outgoing* front() const { return head_; }
    void push(Outgoing& item) {
        item.next_ = nullptr;
        (head_ == nullptr ? head_ : tail_->next_) = &item;
        tail_ = &item;
    }
    Outgoing* pop() {
        Outgoing* item = head_;
        head_ = item->next_;
        return item;
    }

  private:
    Outgoing* head_ = nullptr;
    Outgoing* tail_ = nullptr;
};

struct Connection {
    std::string_view transport() const {
        return interface != nullptr ? interface->name() : std::string_view("self");
    }
    // Whether a packet of our own may leave.
    bool may_enter() const { return transport::credits_in(credits, 0) >= credits_to_enter; }

    transport::Channel* channel = nullptr;
    // The transport's own, for which memory is registered. Null while there is none: then memory is
    // registered for all links.
    transport::Channel* cable = nullptr;
    LinkEnd* end = nullptr;                     // null: what dies with its cable
    ShortcutEnd* shortcut = nullptr;            // null: what is no shortcut
    transport::Interface* interface = nullptr;  // the channel's; null: loopback, or Nowhere
    transport::CreditWord credits = 0;          // packets we may send now, by virtual channel
    transport::CreditWord owed = 0;             // slots freed here and not yet told to the peer
    // A packet of ours may enter while there are this many credits of virtual channel 0: 2 where it
    // enters a ring (bubble flow control), else 1.
    unsigned credits_to_enter = 1;
    unsigned credits_to_turn = 1;  // the same for packets that turn into this dimension
    std::uint8_t held = 0;  // by virtual channel: the packet at the head was delivered before
    bool queued = false;    // is in the Sender's backlog
    bool down = false;
    std::uint64_t used = 0;  // of a shortcut: when something went by it last, see Shortcuts
    bool misled = false;     // packets came by it that belong elsewhere; reported once
    Rank peer = -1;
    std::optional<routing::Direction> link;
    std::array<std::uint8_t, transport::max_virtual_channels>
        grant_at{};            // owed credits that go home alone
    int virtual_channels = 1;  // 0: a shortcut, whose packets the dispatcher takes in its own way
    transport::CreditWord all_credits = 0;

    OutgoingQueue messages;  // control and eager packets: first come, first served
    OutgoingQueue streams;   // large messages in packets: in turns, behind the messages
    Statistics statistics;
};

}  // namespace torusmp::core

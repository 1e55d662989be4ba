// SPDX-License-Identifier: BSD-3-Clause
// The memory of unexpected messages, with a limit: when it is full, senders are asked to hold their
// messages.
//
// Every packet for the rank itself is taken off its connection, however full the store is, because
// packets of other ranks may wait behind it. So the limit is enforced at the sources: a rank that
// is asked to hold sends only the requests (RTS) of its messages, small ones too, until it is asked
// to go on. The request to hold is a hint: matching does not depend on whether, when and in which
// order it takes effect. Messages to the rank itself are never held, since only the caller that
// sends them can receive them.
//
// Used under the Runtime's lock. Only this class writes Peer::holds_from, unexpected and holds.
#pragma once

#include <vector>

#include "core/connection/packet_sender.h"
#include "core/match/unexpected.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class UnexpectedStore {
  public:
    UnexpectedStore(Commons& commons, Connections& connections, PacketSender& sender);

    // Keeps a message that arrived whole.
    Unexpected& keep(Peer& from, Context context, Tag tag, transport::ConstBytes payload);
    // Keeps the request of a message that waits at its sender.
    Unexpected& keep(Peer& from, Context context, Tag tag, const RtsBody& request);
    // Frees a message; senders that hold their messages may go on.
    void give_back(Unexpected& message);
    // Frees a message when the Runtime ends.
    void drop(Unexpected& message) { commons_.pool.give(&message, message.size()); }

    // The memory that all messages use.
    std::size_t bytes() const { return bytes_; }
    void report(Waits& waits) const;

    bool on_hold(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);

  private:
    Unexpected& add(Peer& from, Context context, Tag tag, transport::ConstBytes behind,
                    bool is_request);
    [[gnu::noinline]] void hold(Peer& peer);
    [[gnu::noinline]] void go_on(Peer& peer);
    [[gnu::noinline]] void return_memory();

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    const std::size_t limit_;  // bytes; beyond, senders hold their messages
    std::size_t bytes_ = 0;
    std::size_t most_ = 0;  // the largest `bytes_` since memory was last returned to the system
    std::vector<Rank> holding_;
};

}  // namespace torusmp::core

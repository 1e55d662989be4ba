// SPDX-License-Identifier: BSD-3-Clause
// A carrier of packets of TCP connections by another path as well, which therefore decides when a
// packet that arrived by its connection is next. The connections behave otherwise as without a
// companion: they are made, proven, monitored and made again, and carry remote writes themselves.
//
// Called under the Runtime's lock; all but on_open() only inside a poll of the TcpInterface.
#pragma once

#include "core/transport/api/channel.h"

namespace torusmp::transport::tcp {

class TcpChannel;

class Companion {
  public:
    // Both ends have proved their identity. Packets sent from now on follow all that waited.
    virtual void on_open(TcpChannel& channel) = 0;
    // Receives what the companion at the other end passed to TcpChannel::send_note().
    virtual void on_note(TcpChannel& channel, Sink& sink, ConstBytes note) = 0;
    // A packet has arrived, which TcpChannel::take() would deliver to `sink`. Returns how many
    // packets were taken.
    virtual int on_packet(TcpChannel& channel, Sink& sink, const PacketHeader& header,
                          const std::byte* payload) = 0;

  protected:
    ~Companion() = default;
};

}  // namespace torusmp::transport::tcp

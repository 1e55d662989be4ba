// SPDX-License-Identifier: BSD-3-Clause
// Who carries packets of TCP connections by another way as well, and so decides when one that came
// by its connection is next. The connections stay what they are to everybody else: they are made,
// proven, watched and made again as without a companion, and carry remote writes by themselves.
//
// Called under the Runtime's lock; all but on_open() only inside a poll of the TcpInterface.
#pragma once

#include "core/transport/api/channel.h"

namespace torusmp::transport::tcp {

class TcpChannel;

class Companion {
  public:
    // Both ends have proved who they are. What is sent now comes after all that waited.
    virtual void on_open(TcpChannel& channel) = 0;
    // What the companion at the other end gave to TcpChannel::send_note().
    virtual void on_note(TcpChannel& channel, Sink& sink, ConstBytes note) = 0;
    // A packet has arrived, which TcpChannel::take() would give to `sink`. Returns how many packets
    // were taken.
    virtual int on_packet(TcpChannel& channel, Sink& sink, const PacketHeader& header,
                          const std::byte* payload) = 0;

  protected:
    ~Companion() = default;
};

}  // namespace torusmp::transport::tcp

// SPDX-License-Identifier: BSD-3-Clause
// The connection of a daemon on another host to the head, or to the daemon between them: the pipes
// of the agent that started it, or of a later agent that joined it.
//
// Owned by a daemon and used by its one thread.
#pragma once

#include <functional>

#include "base/descriptor.h"
#include "programs/torus_run/streams/channel.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::torus_run {

class HeadConnection {
  public:
    // Takes over standard input and output, and sends the greeting. `heard` is called when
    // receive() has something to read, or at the end of the stream. Throws std::runtime_error.
    HeadConnection(Loop& loop, std::function<void()> heard);
    HeadConnection(const HeadConnection&) = delete;
    HeadConnection& operator=(const HeadConnection&) = delete;
    ~HeadConnection() { close(); }

    // Continues over these descriptors. Throws std::runtime_error, and is closed, if their far end
    // is closed.
    void join(base::Descriptor input, base::Descriptor output);
    void close();
    bool open() const { return channel_.open(); }

    // The functions of Channel.
    bool receive() { return channel_.receive(); }
    bool next(Frame& frame) { return channel_.next(frame); }
    bool damaged() const { return channel_.damaged(); }
    bool has_unsent() const { return open() && channel_.has_unsent(); }
    // Drops the frame while the connection is closed.
    void send(launch::FrameHeader header, SharedBytes bytes);

  private:
    void watch();
    void send_rest();

    Loop& loop_;
    const std::function<void()> heard_;
    Channel channel_;
};

}  // namespace torusmp::torus_run

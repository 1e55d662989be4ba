// SPDX-License-Identifier: BSD-3-Clause
// The connection of a daemon on another host to the head, or to the daemon between: the pipes of
// the agent that has started it, or of another one that has joined it.
//
// Owned by a daemon and used by its one thread.
#pragma once

#include <functional>

#include "base/descriptor.h"
#include "programs/torus_run/streams/channel.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::launch {

class HeadConnection {
  public:
    // Greets over standard input and output, which are its own from now on. `heard`: there is
    // something to receive(), or the end. Throws std::runtime_error.
    HeadConnection(Loop& loop, std::function<void()> heard);
    HeadConnection(const HeadConnection&) = delete;
    HeadConnection& operator=(const HeadConnection&) = delete;
    ~HeadConnection() { close(); }

    // Goes on over these. Throws std::runtime_error if nobody is at their end any more; then it is
    // closed.
    void join(base::Descriptor input, base::Descriptor output);
    void close();
    bool open() const { return channel_.open(); }

    // As those of Channel.
    bool receive() { return channel_.receive(); }
    bool next(Frame& frame) { return channel_.next(frame); }
    bool damaged() const { return channel_.damaged(); }
    bool has_unsent() const { return open() && channel_.has_unsent(); }
    // Nothing is sent while it is closed.
    void send(FrameHeader header, SharedBytes bytes);

  private:
    void watch();
    void send_rest();

    Loop& loop_;
    const std::function<void()> heard_;
    Channel channel_;
};

}  // namespace torusmp::launch

// torus-run's end of one rank's control socket: frames in, frames out, never blocking.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "launch/descriptor.h"
#include "launch/environment.h"

namespace torusmp::launch {

struct Frame {
    FrameHeader header{};
    pid_t sender = 0;  // as the kernel tells it
    std::vector<std::byte> body;
};

using SharedBytes = std::shared_ptr<const std::vector<std::byte>>;

class Channel {
  public:
    explicit Channel(Descriptor socket);

    int fd() const { return socket_.get(); }
    bool open() const { return bool(socket_); }

    // Takes everything that has arrived. False at the end of the stream.
    bool receive();
    // The next whole frame. A length beyond the limit sets `damaged` and gives no more frames.
    bool next(Frame& frame);
    bool damaged() const { return damaged_; }

    // `bytes` may be shared between channels. Writes what the socket takes, keeps the rest.
    void send(FrameHeader header, SharedBytes bytes);
    void flush();
    bool has_unsent() const { return !unsent_.empty(); }
    void close() { socket_.reset(); }

  private:
    struct Unsent {
        FrameHeader header;
        SharedBytes bytes;
        std::size_t done = 0;
    };

    Descriptor socket_;
    bool damaged_ = false;
    pid_t sender_ = 0;
    std::vector<std::byte> input_;
    std::size_t consumed_ = 0;
    std::deque<Unsent> unsent_;
};

}  // namespace torusmp::launch

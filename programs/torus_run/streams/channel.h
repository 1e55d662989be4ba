// SPDX-License-Identifier: BSD-3-Clause
// torus-run's end of one rank's control socket, and both ends of the connection between two
// daemons: sends and receives frames without blocking.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "launch/environment.h"

namespace torusmp::torus_run {

// Limit for frames between daemons: one frame carries all bytes of an exchange.
inline constexpr std::uint64_t max_daemon_frame_bytes = std::uint64_t(1) << 34;

struct Frame {
    launch::FrameHeader header{};
    pid_t sender = 0;  // as the kernel reports it
    std::vector<std::byte> body;
};

using SharedBytes = std::shared_ptr<const std::vector<std::byte>>;

class Channel {
  public:
    explicit Channel(base::Descriptor socket);
    // Uses the pipes to and from another daemon, which may send longer frames.
    Channel(base::Descriptor input, base::Descriptor output);

    int fd() const { return input_.get(); }
    // For a socket the same as fd().
    int output_fd() const { return output_ ? output_.get() : input_.get(); }
    bool open() const { return bool(input_); }

    // Reads everything that has arrived. False at the end of the stream.
    bool receive();
    // Received bytes that are not a frame: output of another daemon before its greeting.
    std::vector<std::byte>& raw() { return incoming_; }
    // Takes the next complete frame. A length beyond the limit sets `damaged` and ends the frames.
    bool next(Frame& frame);
    bool damaged() const { return damaged_; }

    // Writes what the socket accepts and queues the rest. `bytes` may be shared between channels.
    void send(launch::FrameHeader header, SharedBytes bytes);
    void flush();
    bool has_unsent() const { return !unsent_.empty(); }
    void close() {
        input_.reset();
        output_.reset();
    }

  private:
    struct Unsent {
        launch::FrameHeader header;
        SharedBytes bytes;
        std::size_t done = 0;
    };

    ssize_t take(std::byte* piece, std::size_t bytes);
    ssize_t give(iovec* parts, int count) const;

    base::Descriptor input_;
    base::Descriptor output_;  // empty if input_ is a socket for both directions
    std::uint64_t longest_;
    bool damaged_ = false;
    pid_t sender_ = 0;
    std::vector<std::byte> incoming_;
    std::size_t consumed_ = 0;
    std::deque<Unsent> unsent_;
};

}  // namespace torusmp::torus_run

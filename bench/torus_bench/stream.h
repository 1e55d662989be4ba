// SPDX-License-Identifier: BSD-3-Clause
// Many messages in flight between the two ranks of a pair: through QMP, and over a bare socket.
//
// Buffers and sockets must outlive the bodies that are made here; idle ranks get empty bodies.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/raw_socket.h"
#include "bench/torus_bench/timing.h"

namespace torusmp::bench {

struct Messages {
    std::size_t bytes;
    int count;
    std::size_t all() const { return bytes * std::size_t(count); }
};

// A window to or from a peer, with a separate place in the buffer for each message.
Channel window_of(const Buffer& buffer, Messages window, int peer, bool sending);

// Windows of messages from the first of the pair, each answered by a short message, so that the
// time includes the arrival.
class OneWay {
  public:
    OneWay(const Pair& pair, const Buffer& data, Messages window);
    Body body();

  private:
    void send(long times);
    void receive(long times);

    Pair pair_;
    Buffer word_;
    std::optional<Channel> messages_;
    std::optional<Channel> answer_;
};

// Both ranks send a window and receive one at the same time.
class BothWays {
  public:
    BothWays(const Pair& pair, const Buffer& out, const Buffer& in, Messages window);
    Body body();

  private:
    std::optional<Channel> send_;
    std::optional<Channel> receive_;
};

Body raw_one_way(const Pair& pair, std::span<RawSocket> sockets, const Buffer& data,
                 Messages window);
Body raw_both_ways(const Pair& pair, std::span<RawSocket> sockets, const Buffer& out,
                   const Buffer& in, Messages window);

}  // namespace torusmp::bench

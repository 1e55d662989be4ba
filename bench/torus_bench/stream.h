// SPDX-License-Identifier: BSD-3-Clause
// Many messages in flight between the two ranks of a pair: through QMP, and over a bare socket.
//
// Buffers and sockets outlive the bodies that are made here; ranks that stand by get bodies that do
// nothing.
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

// A window to or from a peer, each message with a place of its own in the buffer.
Channel window_of(const Buffer& buffer, Messages window, int peer, bool sending);

// Windows of messages from the first of the pair, each window answered by a word, so that the time
// is that of arrival.
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

// Both send a window and receive one at the same time.
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

// SPDX-License-Identifier: BSD-3-Clause
// The bare socket with which --raw compares: one TCP connection on the device and addresses of a
// link, or over loopback if all ranks share a host; Nagle off, the same buffer sizes and polling
// time as the library. No credits, no matching, no headers.
//
// A RawSocket owns its descriptor; the buffers belong to the caller and must exist until the
// transfer ends. One thread, inside a Session.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/timing.h"

namespace torusmp::bench {

class RawSocket {
  public:
    explicit RawSocket(base::Descriptor socket) : socket_(std::move(socket)) {}

    // Starts `count` messages of `bytes` each, with separate system calls, from or into consecutive
    // places. At most one send and one receive at a time.
    void start_send(const std::byte* data, std::size_t bytes, int count = 1);
    void start_receive(std::byte* data, std::size_t bytes, int count = 1);
    bool done() const { return out_.left == 0 && in_.left == 0; }
    // Moves as much as possible without blocking. Throws std::runtime_error if the connection is
    // closed.
    bool move();
    int descriptor() const { return socket_.get(); }
    bool sends() const { return out_.left != 0; }
    bool receives() const { return in_.left != 0; }

  private:
    struct Way {
        std::byte* at = nullptr;
        std::size_t left = 0;     // of all messages
        std::size_t bytes = 0;    // of one
        std::size_t current = 0;  // left of the current message
    };
    static void advance(Way& way, std::size_t moved);

    base::Descriptor socket_;
    Way out_;
    Way in_;
};

// Completes all started transfers. Polls; after `spin` without progress, sleeps in poll(2).
void finish(std::span<RawSocket> sockets, std::chrono::nanoseconds spin);

// Whether all ranks are on this host: bare sockets then use its loopback device.
bool raw_over_loopback();
// Describes the connection if it is not a link.
inline constexpr std::string_view loopback_note =
    "Bare socket: over loopback, because all ranks are on this host.";

// Throws config::UsageError if that link of a rank has no device. Every rank checks all links that
// will be opened, so that all of them fail together.
void require_device(const Context& context, int rank, routing::Direction direction);

// Connects this rank with its neighbours in these directions, one connection per link; each
// neighbour calls with the opposite direction. Throws std::runtime_error that names the device.
std::vector<RawSocket> open_raw_links(const Context& context,
                                      const std::vector<routing::Direction>& links);

// The link over which the first of a pair sends to the second; empty for idle ranks. Throws
// config::UsageError on all ranks if the link does not exist.
std::vector<routing::Direction> link_of(const Context& context, const Pair& pair);

// The polling time of the library before it sleeps (progress.spin).
std::chrono::nanoseconds spin_time();

// The same work as with QMP, over the single socket of a pair.
std::function<void(long)> raw_round_trips(const Pair& pair, std::span<RawSocket> sockets,
                                          const std::byte* out, std::byte* in, std::size_t bytes);

// Half round trips of the pair through QMP and, if `raw`, over the bare socket, in turns.
std::vector<Timing> measure_round_trips(const Pair& pair, std::span<RawSocket> sockets, bool raw,
                                        std::size_t bytes, double seconds);

}  // namespace torusmp::bench

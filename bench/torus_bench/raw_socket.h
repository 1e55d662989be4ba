// SPDX-License-Identifier: BSD-3-Clause
// The bare socket to which torus-bench compares us (--raw): one TCP connection on the very device
// and addresses of a link, or over loopback where all ranks share a host; Nagle off, buffers as
// large as ours, polled as long as ours before it sleeps. No credits, no matching, no headers.
//
// A RawSocket owns its descriptor; the buffers belong to the caller and stay in place until the
// transfer is over. One thread, inside a Session.
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

    // `count` messages of `bytes` one after the other, each with system calls of its own, from or
    // into places side by side. At most one send and one receive at a time.
    void start_send(const std::byte* data, std::size_t bytes, int count = 1);
    void start_receive(std::byte* data, std::size_t bytes, int count = 1);
    bool done() const { return out_.left == 0 && in_.left == 0; }
    // Moves what can be moved now. Throws std::runtime_error when the connection is gone.
    bool move();
    int descriptor() const { return socket_.get(); }
    bool sends() const { return out_.left != 0; }
    bool receives() const { return in_.left != 0; }

  private:
    struct Way {
        std::byte* at = nullptr;
        std::size_t left = 0;     // of all messages
        std::size_t bytes = 0;    // of one
        std::size_t current = 0;  // left of the message under way
    };
    static void advance(Way& way, std::size_t moved);

    base::Descriptor socket_;
    Way out_;
    Way in_;
};

// Until all have done what was started. Polls; when nothing has moved for `spin`, sleeps in
// poll(2).
void finish(std::span<RawSocket> sockets, std::chrono::nanoseconds spin);

// Whether all ranks are on this host: bare sockets then go over its loopback device.
bool raw_over_loopback();
// What they go over where that is no link.
inline constexpr std::string_view loopback_note =
    "Bare socket: over loopback, as all ranks are on this host.";

// Throws config::UsageError where that link of a rank has no device. Every rank asks for all links
// that will be opened, so that all of them refuse together.
void require_device(const Context& context, int rank, routing::Direction direction);

// Connects this rank with its neighbours in these directions, one connection a link; each neighbour
// calls with the opposite direction. Throws std::runtime_error that names the device.
std::vector<RawSocket> open_raw_links(const Context& context,
                                      const std::vector<routing::Direction>& links);

// The link over which the first of a pair sends to the second; nothing for the ranks that stand by.
// Throws config::UsageError on all ranks where there is no such link.
std::vector<routing::Direction> link_of(const Context& context, const Pair& pair);

// As long as ours polls before it sleeps (progress.spin).
std::chrono::nanoseconds spin_time();

// The same work as with QMP, over a pair's only socket.
std::function<void(long)> raw_round_trips(const Pair& pair, std::span<RawSocket> sockets,
                                          const std::byte* out, std::byte* in, std::size_t bytes);

// Half round trips of the pair through QMP and, if raw, over the bare socket, in turns.
std::vector<Timing> measure_round_trips(const Pair& pair, std::span<RawSocket> sockets, bool raw,
                                        std::size_t bytes, double seconds);

}  // namespace torusmp::bench

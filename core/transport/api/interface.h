// SPDX-License-Identifier: BSD-3-Clause
// What core asks of a transport as a whole: interfaces that open channels, deliver what has
// arrived, expose memory to peers, and sleep.
//
// Ownership: a Runtime owns its Interface, an Interface its Channels. One thread at a time may call
// (the Runtime holds its lock); only Interface::wake() may be called from anywhere.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/transport/api/channel.h"

namespace torusmp::transport {

using Clock = std::chrono::steady_clock;

struct ChannelOptions {
    std::uint32_t local_port = 0;   // where packets of this channel arrive at this end
    std::uint32_t remote_port = 0;  // and at the peer
    bool mutual = false;            // both ends connect this channel at start, without being asked
    // Of a link that is connected again: its cable is not looked for before this time has passed,
    // unless the other end does.
    std::chrono::nanoseconds pause{0};
    // Not mutual, and connected again by either end once one of them has closed or lost it: see
    // Capabilities::renews. Only where the route leads over a link: else connect() throws.
    bool renews = false;
};

// One port of an interface: the slots behind it.
struct PortOptions {
    std::uint32_t port = 0;
    int virtual_channels = 1;
    std::array<std::uint8_t, max_virtual_channels> credits{};  // slots by virtual channel
    std::size_t slot_bytes = 0;                                // payload that each slot holds
};

class Interface {
  public:
    Interface(std::string_view name, const Capabilities& capabilities)
        : name_(name), capabilities_(capabilities) {}
    virtual ~Interface() = default;
    Interface(const Interface&) = delete;
    Interface& operator=(const Interface&) = delete;

    std::string_view name() const { return name_; }
    const Capabilities& can() const { return capabilities_; }

    // What a peer needs to connect to this interface; distributed by the bootstrap's exchange.
    virtual std::vector<std::byte> address() const = 0;
    // Throws std::runtime_error that says which peer and why; the attempt then leaves nothing
    // behind.
    virtual Channel& connect(ConstBytes peer_address, const ChannelOptions& options) = 0;

    // Tells all peers that nothing more comes from here, so that the end of this process is no
    // fault to them. Afterwards only memory may be allocated and freed. The destructor does the
    // same.
    virtual void say_goodbye() {}

    // Delivers what has arrived, a bounded number of packets at most. Returns how many were taken.
    virtual int poll(Sink& sink) = 0;
    // True if nothing that was sent is still waiting here for its link.
    virtual bool idle() const { return true; }
    // What it has counted, in one line or more, for reports; empty: nothing.
    virtual std::string statistics() const { return {}; }

    // ---- memory ----
    // Exposes memory to the peer at the other end of `channel`, over all links to it, or, if that
    // is null, to the peers behind every link. Length 0: it cannot be exposed for want of a
    // resource.
    virtual RemoteMemory register_memory(Bytes memory, const Channel* channel) = 0;
    // Ends what register_memory() began: no peer's write reaches this memory any more.
    virtual void deregister_memory(const RemoteMemory& /*memory*/) {}
    // Memory of ours as a peer refers to it, while it is exposed: [offset, offset + bytes) of it.
    // Empty: it is not exposed, or shorter.
    virtual Bytes registered(const RemoteMemory& /*memory*/, std::size_t /*offset*/,
                             std::size_t /*bytes*/) {
        return {};
    }
    // The same of memory that a peer may place payload in over the channel of that port.
    virtual Bytes place(const RemoteAddress& /*target*/, std::uint32_t /*port*/,
                        std::size_t /*bytes*/) {
        return {};
    }
    // Whether peers reach this memory by plain stores, so that even small messages gain.
    virtual bool is_mapped(const RemoteMemory& /*memory*/) const { return false; }
    // Memory that peers reach at the lowest cost; null if there is no more. free() accepts nullptr.
    virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
    virtual void free(void* memory) = 0;

    // ---- sleeping ----
    // One thread at a time: prepare_sleep(), one more poll(), then sleep() if that found nothing,
    // and cancel_sleep() in the end. A packet or a wake() after prepare_sleep() ends the sleep at
    // once, and so does a packet before it that the poll has left for the sleep to find. Instead of
    // calling sleep() the caller may wait until descriptor() is readable, if there is one.
    virtual void prepare_sleep() {}
    virtual void cancel_sleep() {}
    virtual void sleep(Clock::time_point deadline) = 0;
    virtual int descriptor() { return -1; }
    // From any thread and from signal handlers.
    virtual void wake() noexcept {}
    // Whether prepare_sleep() makes visible here all that others have stored in memory that both
    // have mapped, so that those who store need no fence before they ask whether this rank sleeps.
    virtual bool sleepers_fence() const { return false; }

  private:
    const std::string_view name_;
    const Capabilities capabilities_;
};

}  // namespace torusmp::transport

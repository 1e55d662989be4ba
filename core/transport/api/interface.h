// SPDX-License-Identifier: BSD-3-Clause
// Core's interface to a transport as a whole: interfaces that open channels, deliver arrived
// packets, expose memory to peers, and sleep.
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
    std::uint32_t local_port = 0;   // the local port, at which this channel's packets arrive
    std::uint32_t remote_port = 0;  // the port at the peer
    bool mutual = false;            // both ends connect this channel at start, without being asked
    // The cable of a link that is connected again is not tried before this time has passed, unless
    // the other end tries it.
    std::chrono::nanoseconds pause{0};
    // If the cable of a link that is connected again is missing, this is reported after the
    // timeout, as if the link had just died, though an earlier channel has reported it.
    bool afresh = false;
    // Not mutual, and connected again by either end once one of them has closed or lost it: see
    // Capabilities::renews. Only if the route leads over a link; otherwise connect() throws.
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

    // The data that a peer needs to connect to this interface; distributed by the bootstrap's
    // exchange.
    virtual std::vector<std::byte> address() const = 0;
    // Throws std::runtime_error that names the peer and the reason; a failed attempt leaves nothing
    // behind.
    virtual Channel& connect(ConstBytes peer_address, const ChannelOptions& options) = 0;

    // Announces to all peers that nothing more will be sent from here, so that they do not take the
    // end of this process for a fault. Afterwards memory may only be allocated and freed. The
    // destructor does the same.
    virtual void say_goodbye() {}

    // Delivers arrived packets, up to a limit. Returns how many were taken.
    virtual int poll(Sink& sink) = 0;
    // True if no sent packet is still waiting here for its link.
    virtual bool idle() const { return true; }
    // Counters of the transport for reports, in one or more lines; empty if there are none.
    virtual std::string statistics() const { return {}; }

    // ---- memory ----
    // Exposes memory to the peer at the other end of `channel`, over all links to it, or, if
    // `channel` is null, to the peers behind every link. Length 0 if it cannot be exposed for lack
    // of a resource.
    virtual RemoteMemory register_memory(Bytes memory, const Channel* channel) = 0;
    // Ends what register_memory() began: no further write of a peer reaches this memory.
    virtual void deregister_memory(const RemoteMemory& /*memory*/) {}
    // Our own memory that a peer refers to, while it is exposed: [offset, offset + bytes) of it.
    // Empty if it is not exposed, or is shorter.
    virtual Bytes registered(const RemoteMemory& /*memory*/, std::size_t /*offset*/,
                             std::size_t /*bytes*/) {
        return {};
    }
    // Memory in which a peer may place payload over the channel of that port; empty if there is
    // none.
    virtual Bytes place(const RemoteAddress& /*target*/, std::uint32_t /*port*/,
                        std::size_t /*bytes*/) {
        return {};
    }
    // The rate at which the kernel copies long messages between the private memories of two ranks
    // of this host, MB/s; 0: they take another way.
    virtual double copy_rate() { return 0; }
    // Whether peers reach this memory by plain stores, so that even small messages gain. Such
    // memory need not be deregistered.
    virtual bool is_mapped(const RemoteMemory& /*memory*/) const { return false; }
    // Memory that peers reach at the lowest cost; null if there is none left. free() accepts
    // nullptr.
    virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
    virtual void free(void* memory) = 0;

    // ---- sleeping ----
    // One thread at a time: prepare_sleep(), one more poll(), then sleep() if the poll found
    // nothing, and finally cancel_sleep(). A packet or a wake() after prepare_sleep() ends the
    // sleep immediately, and so does an earlier packet that the poll has not taken. Instead of
    // calling sleep() the caller may wait until descriptor() is readable, if there is one.
    virtual void prepare_sleep() {}
    virtual void cancel_sleep() {}
    virtual void sleep(Clock::time_point deadline) = 0;
    virtual int descriptor() { return -1; }
    // From now on there is a descriptor, because the caller waits for other events too; not between
    // prepare_sleep() and cancel_sleep(). Throws std::runtime_error.
    virtual void want_descriptor() {}
    // May be called from any thread and from signal handlers.
    virtual void wake() noexcept {}
    // Whether prepare_sleep() makes all stores of others to memory that both have mapped visible
    // here, so that a storing rank needs no fence before it checks whether this rank sleeps.
    virtual bool sleepers_fence() const { return false; }

  private:
    const std::string_view name_;
    const Capabilities capabilities_;
};

}  // namespace torusmp::transport

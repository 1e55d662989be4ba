// SPDX-License-Identifier: BSD-3-Clause
// TCP between the nodes of a torus: a connection for each link, bound to the link's device and
// address, so that the routing table has no effect; and routed connections to ranks further away,
// if the kernels in between forward.
//
// While messages arrive, polling looks at the busiest socket, and now and then at all of them
// (epoll); waiting sleeps in epoll. Connections are established inside poll(), in parallel with
// traffic (connector.h): a caller and a listener prove to each other that they know the job's
// secret (handshake.h); a peer that cannot is dropped.
//
// A peer's process has no time limit: it may compute for hours between two steps of a handshake, or
// before it reads. Only kernels have to answer in time. Ours reports a cable over which a call gets
// no answer, and an idle connection whose other end is gone. Connections with data in flight are
// checked here, since the kernel's limit for those (TCP_USER_TIMEOUT) also ends connections whose
// other end answers but has no room.
//
// A link whose cable has died may be connected again, and waits for the cable to return.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/transport/common/alarm.h"
#include "core/transport/common/exposures.h"
#include "core/transport/common/network.h"
#include "core/transport/tcp/channel.h"
#include "core/transport/tcp/connector.h"
#include "core/transport/tcp/options.h"

namespace torusmp::transport::tcp {

class TcpInterface final : public Network<TcpChannel>, private Connector::Owner {
  public:
    // Throws std::runtime_error that names the device and the reason.
    TcpInterface(const std::vector<PortOptions>& ports, InterfaceOptions options);
    ~TcpInterface() override;

    void say_goodbye() override;
    std::string statistics() const override { return awaited_peers(); }
    Channel& connect(ConstBytes peer_address, const ChannelOptions& options) override;
    int poll(Sink& sink) override;
    RemoteMemory register_memory(Bytes memory, const Channel* channel) override;
    void deregister_memory(const RemoteMemory& memory) override;
    Bytes registered(const RemoteMemory& memory, std::size_t offset, std::size_t bytes) override {
        return exposures_.find(memory.as<MemoryId>(), offset, bytes);
    }
    // Whether the next poll has work that no socket announces, or should be soon.
    bool is_pressed() const {
        return holding_ != 0 || blocked_ != 0 || !dirty_.empty() || has_news() ||
               !replaced_.empty();
    }
    // Adds a descriptor that ends sleeps for the companion, which handles it.
    void watch_for_companion(int descriptor);
    // Between sleep() and cancel_sleep(): whether only that descriptor has ended the sleep.
    bool slept_for_companion() const;
    void* allocate(std::size_t bytes, std::size_t alignment) override;
    void free(void* memory) override;
    bool idle() const override;
    void prepare_sleep() override;
    void cancel_sleep() override;
    void sleep(Clock::time_point deadline) override;

    static constexpr std::size_t most_pending = Connector::most_pending;

    // --- for its channels ---
    const InterfaceOptions& options() const { return options_; }
    bool polling() const { return polling_; }
    unsigned turn() const { return turn_; }  // polls so far
    Bytes find_exposed(MemoryId memory, std::size_t offset, std::size_t bytes) const {
        return exposures_.find(memory, offset, bytes);
    }
    // A remote write has ended: reported to core at the end of the poll.
    void on_write_end(TcpChannel& channel, std::uint64_t cookie, bool ok) {
        transfers_.push_back({&channel, cookie, ok});
    }
    // Withdraws the last of these reports, if it is about that channel. Returns true if it was.
    bool take_back_end(const TcpChannel& channel);
    // The channel has bytes for the end of the poll: flush_queued().
    void on_queued(TcpChannel& channel) { dirty_.push_back(&channel); }
    // The channel has begun to hold packets, or holds none any more.
    void on_held(bool holds) { holding_ += holds ? 1u : ~std::size_t{0}; }
    // The socket of the channel is full, or has room again. `socket` is -1 if it is closed.
    void on_blocked(TcpChannel& channel, int socket, bool blocked);
    // The channel is down: reported to core at the end of the poll.
    void on_fall(TcpChannel& channel);

  private:
    unsigned require_route(const Pair& pair, const std::string& peer_host) const;

    // Connector::Owner
    TcpChannel* channel_at(std::uint32_t port) const override { return channel_of(port); }
    bool opens(std::uint32_t port) const override { return has_port(port); }
    void on_met(TcpChannel& channel, base::Descriptor socket) override;

    // parts of poll()
    int look(Sink& sink);
    int serve(TcpChannel& channel, std::uint32_t events, Sink& sink);
    void read_monitor();
    void tend(Clock::time_point now);
    void flush_dirty();
    void bury();
    void forget_events();

    InterfaceOptions options_;
    // Rings when a connection must be checked although nothing arrives on it.
    Alarm alarm_;
    Connector connector_;
    std::vector<TcpChannel*> dirty_;  // those with bytes for the end of the poll
    TcpChannel* hot_ = nullptr;       // the last one to receive something, likely the busiest
    Exposures exposures_;
    unsigned look_mask_ = 0;   // all sockets are polled once in this many polls plus one
    std::size_t blocked_ = 0;  // channels whose socket is full

    // Events that epoll reported.
    struct Events {
        std::array<epoll_event, 32> list;
        int count = 0;

        void wait(int epoll, int milliseconds);
    };
    Events slept_until_;  // of the thread that sleeps
    Events woken_by_;     // for the next look
    bool sleeps_next_ = false;
    // The number of deleted objects that events may name: now, and before the sleep.
    unsigned forgotten_ = 0;
    unsigned known_forgotten_ = 0;

    Clock::time_point next_look_for_silence_ = Clock::time_point::max();
    // Replaced channels, kept until the end of the poll, which may be about to use them.
    std::vector<std::unique_ptr<TcpChannel>> replaced_;
};

}  // namespace torusmp::transport::tcp

// SPDX-License-Identifier: BSD-3-Clause
// TCP between the nodes of a torus: a connection for each link, bound to the link's device and
// address, so that the routing table has no effect; and routed connections to ranks further away,
// if the kernels in between forward.
//
// While messages arrive, polling looks at the busiest socket, and now and then at all of them
// (epoll); waiting sleeps in epoll. Connections are established inside poll(), in parallel with
// traffic: a caller and a listener prove to each other that they know the job's secret
// (handshake.h); a peer that cannot is dropped.
//
// A peer's process has no time limit: it may compute for hours between two steps of a handshake, or
// before it reads. Only kernels have to answer in time. Ours reports a cable over which a call gets
// no answer, and an idle connection whose other end is gone. Connections with data in flight are
// checked here, since the kernel's limit for those (TCP_USER_TIMEOUT) also ends connections whose
// other end answers but has no room.
//
// A link whose cable has died may be connected again, and waits for the cable to return
// (returning.cpp).
#pragma once

#include <sys/epoll.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/transport/common/alarm.h"
#include "core/transport/common/exposures.h"
#include "core/transport/common/network.h"
#include "core/transport/tcp/attempt.h"
#include "core/transport/tcp/channel.h"
#include "core/transport/tcp/listeners.h"
#include "core/transport/tcp/settings.h"

namespace torusmp::transport::tcp {

// Ports without a device take any route.
struct InterfaceOptions : NetworkOptions {
    Companion* companion = nullptr;  // sends packets of its connections by another path as well
    std::size_t socket_buffer = setting::socket_buffer.initial();  // bytes, each way
};

class TcpInterface final : public Network<TcpChannel> {
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

    // The most pending connections: for one more, the oldest of those that have not even named this
    // interface is dropped.
    static constexpr std::size_t most_pending = 64;

  private:
    friend class TcpChannel;

    void listen(Endpoint& endpoint);
    void call(TcpChannel& channel);
    unsigned require_route(const Pair& pair, const std::string& peer_host) const;
    void tune(int socket) const;
    void limit_silence(int socket, std::chrono::nanoseconds limit) const;

    // parts of poll()
    int look(Sink& sink);
    int serve(TcpChannel& channel, std::uint32_t events, Sink& sink);
    void read_monitor();
    void flush_dirty();

    // connection establishment
    void accept_from(std::size_t listening);
    void advance(Attempt& attempt, Sink& sink);
    bool exchange(Attempt& attempt);
    void decide(Attempt& attempt, Sink& sink);
    void accept(Attempt& attempt, TcpChannel& channel);
    void attach_if_finished(Attempt& attempt);
    void broken(Attempt& attempt, int error);
    void unanswered(Attempt& attempt);
    void lost(Attempt& attempt, const std::string& why);
    void give_up(Attempt& attempt, const std::string& why);
    void refused(Attempt& attempt);
    void make_room();
    void park(Attempt& attempt);
    bool decide_again(Attempt& attempt, TcpChannel& channel);

    // links whose cable is dead (returning.cpp)
    void await_cable(TcpChannel& channel, Clock::time_point now);
    // The time until the next call, if none has reached the other end's kernel.
    std::chrono::nanoseconds pause_of(const TcpChannel& channel) const;
    bool has_reached_kernel(const TcpChannel& channel) const;
    void begin_again(TcpChannel& channel, const std::string& why);
    void tend(Clock::time_point now);
    void bury();
    void forget_attempts();
    void forget_events();

    // reported by channels
    void drop_calls(const TcpChannel& channel);
    void make_dirty(TcpChannel& channel);
    void channel_blocked(TcpChannel& channel);

    InterfaceOptions options_;
    Listeners listeners_;
    std::vector<std::unique_ptr<Attempt>> attempts_;
    // Proven connections to ports that are not yet connected here; the caller waits for a verdict.
    std::vector<std::unique_ptr<Attempt>> arrivals_;
    std::vector<TcpChannel*> dirty_;
    TcpChannel* hot_ = nullptr;  // the busiest: the last one to receive something
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

    // Rings when a connection must be checked although nothing arrives on it.
    Alarm alarm_;
    Clock::time_point next_look_for_silence_ = Clock::time_point::max();
    // Replaced channels, kept until the end of the poll, which may be about to use them.
    std::vector<std::unique_ptr<TcpChannel>> replaced_;
};

}  // namespace torusmp::transport::tcp

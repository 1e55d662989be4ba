// SPDX-License-Identifier: BSD-3-Clause
// Connects the channels of a TcpInterface: calls, accepts calls, and carries out the handshakes of
// both.
//
// Links whose cable has died are connected again by core immediately, and the channel then waits
// for the cable (patience.h): both ends repeat their calls until one of them gets through. Only the
// cable is judged. While the other end's kernel answers, its process may take any time.
//
// Owned by its TcpInterface and used under the Runtime's lock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/transport/common/alarm.h"
#include "core/transport/tcp/attempt.h"
#include "core/transport/tcp/channel.h"
#include "core/transport/tcp/listeners.h"
#include "core/transport/tcp/options.h"

namespace torusmp::transport::tcp {

class Connector {
  public:
    // The TcpInterface, as a Connector sees it.
    class Owner {
      public:
        // The channel at a port; null if core has not connected it.
        virtual TcpChannel* channel_at(std::uint32_t port) const = 0;
        // Whether the interface has that port.
        virtual bool opens(std::uint32_t port) const = 0;
        // Both ends have proved their identity: the socket is now the channel's.
        virtual void on_met(TcpChannel& channel, base::Descriptor socket) = 0;

      protected:
        ~Owner() = default;
    };
    // The most pending connections: for one more, the oldest of those that have not even named this
    // interface is dropped.
    static constexpr std::size_t most_pending = 64;

    // `epoll` reports sockets under their marks (attempt.h). `alarm` rings when tend() has work.
    // `ports` is the number of ports. All references outlive this.
    Connector(const InterfaceOptions& options, const Address& address, int epoll, Alarm& alarm,
              std::size_t ports, const std::vector<std::unique_ptr<TcpChannel>>& channels,
              Owner& owner)
        : options_(options),
          address_(address),
          epoll_(epoll),
          alarm_(alarm),
          channels_(channels),
          owner_(owner),
          listeners_(epoll, ports + most_pending, options.host, options.log) {}

    // Accepts calls at an endpoint, which must outlive this. Throws std::runtime_error.
    void listen(Endpoint& endpoint);
    // Ends everything that is not connected yet.
    void close();
    // Connects a new channel: by a call that has arrived for it, or by calling. Throws
    // std::runtime_error.
    void begin(TcpChannel& channel);
    // Ends the calls of a channel.
    void drop_calls(const TcpChannel& channel);
    // The channel is about to be destroyed.
    void forget(const TcpChannel& channel);

    // --- events ---
    void accept_from(std::size_t listening);
    void advance(Attempt& attempt, Sink& sink);
    // A device has gone down, or is gone.
    void on_device(unsigned device, std::string_view what);
    // A device may be usable again: tend() repeats all calls now, except those that must wait.
    void call_all_again(Clock::time_point now);
    // Does the work that is due.
    void tend(Clock::time_point now);
    bool is_idle() const { return attempts_.empty() && arrivals_.empty(); }
    // Deletes the attempts that are over. Returns true if there were any, which events may name.
    bool forget_ended();

  private:
    void call(TcpChannel& channel);
    bool exchange(Attempt& attempt);
    void decide(Attempt& attempt, Sink& sink);
    bool decide_again(Attempt& attempt, TcpChannel& channel);
    void accept(Attempt& attempt, TcpChannel& channel);
    void attach_if_finished(Attempt& attempt);
    void broken(Attempt& attempt, int error);
    void unanswered(Attempt& attempt);
    void lost(Attempt& attempt, const std::string& why);
    void give_up(Attempt& attempt, const std::string& why);
    void refused(Attempt& attempt);
    void make_room();
    void park(Attempt& attempt);

    void await_cable(TcpChannel& channel, Clock::time_point now);
    // The time until the next call, if none has reached the other end's kernel.
    std::chrono::nanoseconds pause_of(const TcpChannel& channel) const;
    bool has_reached_kernel(const TcpChannel& channel) const;
    void begin_again(TcpChannel& channel, const std::string& why);
    void tend(TcpChannel& channel, Clock::time_point now);

    const InterfaceOptions& options_;
    const Address& address_;
    const int epoll_;
    Alarm& alarm_;
    const std::vector<std::unique_ptr<TcpChannel>>& channels_;
    Owner& owner_;
    Listeners listeners_;
    std::vector<std::unique_ptr<Attempt>> attempts_;
    // Proven connections to ports that are not yet connected here; the caller waits for a verdict.
    std::vector<std::unique_ptr<Attempt>> arrivals_;
};

}  // namespace torusmp::transport::tcp

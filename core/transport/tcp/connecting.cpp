// SPDX-License-Identifier: BSD-3-Clause
// How a TcpInterface establishes connections: calls, and the handshakes of both sides.
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/descriptor.h"
#include "base/socket_address.h"
#include "core/transport/common/route.h"
#include "core/transport/tcp/attempt.h"
#include "core/transport/tcp/channel.h"
#include "core/transport/tcp/interface.h"
#include "core/transport/tcp/sockets.h"

namespace torusmp::transport::tcp {
namespace {

// The number of calls of one channel that may be lost before a verdict, because the other end made
// room.
constexpr unsigned most_calls = 8;
// A socket with this many unsent bytes in the kernel counts as full, so that packets after a large
// write do not wait for megabytes.
constexpr int most_unsent = 256 << 10;
// After this time without acknowledgement, the packets of a shortcut are relayed; the shortcut is
// made again.
constexpr std::chrono::nanoseconds shortcut_silence = std::chrono::seconds(1);
// The congestion control of each connection. A cable has no other senders, so there is nothing to
// estimate, and an algorithm that paces by estimates (bbr) mistakes the pauses between messages for
// the cable's rate. This one is part of every kernel, and any process that may open a socket may
// select it.
constexpr std::string_view unpaced = "reno";

std::string describe(const Endpoint& own, const Pair& pair, const Endpoint& theirs,
                     const std::string& peer_host) {
    return fmt::format(
        "{}{} to {}{} of {}", own.device.empty() ? "" : fmt::format("device {}, ", own.device),
        pair.own.text(), pair.peer.text(),
        theirs.device.empty() ? "" : fmt::format(" on {}", theirs.device), peer_host);
}

[[noreturn]] void refuse_addresses(const Endpoint& own, const std::string& host,
                                   const Endpoint& theirs, const std::string& peer_host) {
    throw std::runtime_error(
        fmt::format("tcp: {} and {} share no network: expected addresses of one network at both "
                    "ends of a cable, or IPv6 link-local ones",
                    describe(own, host), describe(theirs, peer_host)));
}

// Whether the other end has closed the connection.
bool has_hung_up(int socket) {
    std::byte next;
    return recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

std::string address_of_peer(int socket) {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) != 0)
        return "an unknown address";
    const auto found = base::address_from(reinterpret_cast<const sockaddr*>(&peer));
    return found ? found->text() : "an unknown address";
}

}  // namespace

Channel& TcpInterface::connect(ConstBytes peer_address, const ChannelOptions& options) {
    const Address peer = Address::decode(peer_address);
    const Endpoint& own = address_.endpoint(options.local_port);
    const Endpoint& theirs = peer.endpoint(options.remote_port);
    const bool spared = options.mutual && options_.spares_links;
    const auto pair = choose_pair(own, theirs);
    if (!pair && !spared) refuse_addresses(own, options_.host, theirs, peer.host);
    auto made = std::make_unique<TcpChannel>(*this, port_options(options.local_port));
    TcpChannel& channel = *made;
    channel.name_ =
        pair ? describe(own, *pair, theirs, peer.host)
             : fmt::format("{} to {}", describe(own, options_.host), describe(theirs, peer.host));
    channel.pair_ = pair;
    channel.device_name_ = own.device;
    channel.device_ = own.device.empty() ? 0 : if_nametoindex(own.device.c_str());
    channel.remote_port_ = options.remote_port;
    channel.peer_ = peer.id;
    channel.theirs_ = theirs;
    channel.mutual_ = options.mutual;
    channel.renews_ = options.renews;
    if (options.renews) channel.leaves_by_ = require_route(*pair, peer.host);
    const auto before = std::find_if(channels_.begin(), channels_.end(), [&](const auto& it) {
        return it->port_.port == options.local_port;
    });
    if (before != channels_.end()) {
        (*before)->close("it is connected again");
        if (options.mutual)
            channel.patience_.follow((*before)->patience_, options.pause, options_.timeout);
    }

    const auto arrival = std::find_if(arrivals_.begin(), arrivals_.end(), [&](const auto& it) {
        const Introduction& said = it->handshake.introduction();
        return !it->is_over() && said.caller == peer.id && said.to_port == options.local_port &&
               said.from_port == options.remote_port;
    });
    if (arrival != arrivals_.end()) {
        Attempt& attempt = **arrival;
        attempt.become(Attempt::Stage::introducing);
        attempts_.push_back(std::move(*arrival));
        arrivals_.erase(arrival);
        accept(attempt, channel);
    } else if (spared) {
        await_cable(channel, Clock::now());
    } else if (!options.mutual || address_.id > peer.id) {
        call(channel);
    }
    if (before == channels_.end())
        channels_.push_back(std::move(made));
    else  // it keeps its place, since core may be called from a loop over all channels
        replaced_.push_back(std::exchange(*before, std::move(made)));
    return channel;
}

// Traffic between the ranks must not take another network, such as one for the management of the
// hosts.
unsigned TcpInterface::require_route(const Pair& pair, const std::string& peer_host) const {
    if (options_.devices.empty()) return 0;
    const std::string device = device_towards(pair.peer);
    if (std::none_of(options_.devices.begin(), options_.devices.end(),
                     [&](const PortDevice& it) { return it.name == device; }))
        throw std::runtime_error(
            fmt::format("tcp: {} at {}: no route leads there over a link of {}", peer_host,
                        pair.peer.text(), options_.host));
    return if_nametoindex(device.c_str());
}

void TcpInterface::tune(int socket) const {
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_buffer(socket, SO_SNDBUFFORCE, SO_SNDBUF, options_.socket_buffer);
    set_buffer(socket, SO_RCVBUFFORCE, SO_RCVBUF, options_.socket_buffer);
    set(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, most_unsent);
    setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, unpaced.data(), socklen_t(unpaced.size()));
    // Until the handshake has ended, in which an end may wait for the other without sending.
    set_keepalive(socket, options_.timeout, false);
    limit_silence(socket, options_.timeout);
}

// How long our kernel waits for an answer before it ends the connection; 0 for its default.
void TcpInterface::limit_silence(int socket, std::chrono::nanoseconds limit) const {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
    set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, int(std::min<std::int64_t>(milliseconds, 1 << 30)));
}

void TcpInterface::call(TcpChannel& channel) {
    ++channel.calls_;
    channel.device_ =
        channel.device_name_.empty() ? 0 : if_nametoindex(channel.device_name_.c_str());
    if (!channel.pair_) {  // addresses of ours may have appeared since
        Endpoint own = address_.endpoint(channel.port_.port);
        own.addresses = addresses_kept_by(own.device);
        channel.pair_ = choose_pair(own, channel.theirs_);
        if (!channel.pair_)
            throw std::runtime_error(fmt::format("{} share no network", channel.name_));
    }
    const sockaddr_storage own = base::socket_address(channel.pair_->own, 0, channel.device_);
    const sockaddr_storage peer = base::socket_address(
        channel.pair_->peer, std::uint16_t(channel.theirs_.listens_on), channel.device_);
    base::Descriptor socket(::socket(own.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) fail(fmt::format("cannot open a socket for {}", channel.name_));
    bind_to_device(socket.get(), channel.device_name_);
    tune(socket.get());
    const auto* const from = reinterpret_cast<const sockaddr*>(&own);
    const auto* const to = reinterpret_cast<const sockaddr*>(&peer);
    if (bind(socket.get(), from, length_of(own)) != 0)
        fail(fmt::format("cannot bind a socket for {}", channel.name_));
    if (::connect(socket.get(), to, length_of(peer)) != 0 && errno != EINPROGRESS)
        fail(fmt::format("cannot connect by {}", channel.name_));
    const Introduction introduction{address_.id, channel.peer_, channel.port_.port,
                                    channel.remote_port_};
    auto made = std::make_unique<Attempt>(std::move(socket),
                                          Handshake::call(options_.secret, introduction), channel);
    epoll_event event{EPOLLIN | EPOLLOUT, {.u64 = mark(made.get(), Watched::attempt)}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, made->socket.get(), &event) != 0) fail("epoll_ctl");
    attempts_.push_back(std::move(made));
    channel.state_ = TcpChannel::State::meeting;
}

// Writes and reads what the handshake needs next. Returns false if it has ended.
bool TcpInterface::exchange(Attempt& attempt) {
    Handshake& handshake = attempt.handshake;
    std::array<std::byte, 256> buffer;
    for (;;) {
        while (!handshake.to_write().empty()) {
            const auto bytes = handshake.to_write();
            const ssize_t sent = ::send(attempt.socket.get(), bytes.data(), bytes.size(),
                                        MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return true;
            if (sent <= 0) {
                broken(attempt, errno);
                return false;
            }
            handshake.written(std::size_t(sent));
        }
        if (handshake.wants() == 0) return true;
        const std::size_t most = std::min(handshake.wants(), buffer.size());
        const ssize_t got = recv(attempt.socket.get(), buffer.data(), most, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (got < 0) {
            broken(attempt, errno);
            return false;
        }
        if (got == 0) {
            lost(attempt, "the other end has closed it");
            return false;
        }
        if (!handshake.read(std::span(buffer).first(std::size_t(got)))) {
            give_up(attempt, handshake.why());
            return false;
        }
    }
}

void TcpInterface::advance(Attempt& attempt, Sink& sink) {
    if (attempt.is_over()) return;
    if (attempt.stage() ==
        Attempt::Stage::parked) {  // nothing arrives before its verdict, so its caller has gone
        attempt.end();
        return;
    }
    if (attempt.stage() == Attempt::Stage::connecting) {
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(attempt.socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
        if (error == ECONNRESET) return lost(attempt, std::strerror(error));
        if (error == ECONNREFUSED) return refused(attempt);
        if (error == ETIMEDOUT) return unanswered(attempt);
        if (error != 0) return give_up(attempt, std::strerror(error));
        sockaddr_storage peer{};
        length = sizeof peer;
        if (getpeername(attempt.socket.get(), reinterpret_cast<sockaddr*>(&peer), &length) != 0)
            return;
        attempt.become(Attempt::Stage::introducing);
        epoll_event event{EPOLLIN, {.u64 = mark(&attempt, Watched::attempt)}};
        epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, attempt.socket.get(), &event);
    }
    if (!exchange(attempt)) return;
    if (attempt.handshake.proven()) return decide(attempt, sink);
    if (!attempt.caller) return;
    attach_if_finished(attempt);
    if (attempt.handshake.refused()) {
        // Both ends have called, and the other end's call is the one that stays.
        attempt.end();
        TcpChannel& channel = *attempt.caller;
        if (channel.state_ != TcpChannel::State::meeting) return;
        channel.state_ = TcpChannel::State::waiting;
        // The other end may have mistaken for its call a connection that this end has lost.
        if (channel.renews_)
            alarm_.set(channel.patience_.give_up_at = Clock::now() + options_.timeout);
    }
}

// A caller has proved that it belongs to the job. Decides whether it is the expected one, and
// whether its call stays.
void TcpInterface::decide(Attempt& attempt, Sink& sink) {
    const Introduction& said = attempt.handshake.introduction();
    TcpChannel* channel = channel_of(said.to_port);
    if (channel == nullptr) {
        const std::uint32_t port = said.to_port;
        if (!has_port(port)) return give_up(attempt, "no such port");
        park(attempt);
        return sink.on_connect(port);
    }
    const bool ours = channel->peer_ == said.caller && channel->remote_port_ == said.from_port;
    if (!ours && channel->patience_.again)
        channel->stranger_ = fmt::format("another rank of the job, at {}, is at its other end",
                                         address_of_peer(attempt.socket.get()));
    if (ours && channel->is_made_good() && decide_again(attempt, *channel)) {
        if (channel->renews_ && attempt.stage() == Attempt::Stage::parked)
            sink.on_connect(said.to_port);
        return;
    }
    const bool stays = channel->state_ == TcpChannel::State::waiting ||
                       (channel->state_ == TcpChannel::State::meeting && said.caller > address_.id);
    // A caller that is not expected here gets no verdict.
    if (!ours || channel->state_ >= TcpChannel::State::finished)
        return give_up(attempt, "not the one that belongs here");
    if (!stays) {
        attempt.handshake.refuse();
        exchange(attempt);
        attempt.end();
        return;
    }
    for (const auto& other : attempts_)
        if (other->caller == channel) other->end();
    accept(attempt, *channel);
}

// Handles a connection that was open here and that the other end has lost. Returns true if the
// decision has been made.
bool TcpInterface::decide_again(Attempt& attempt, TcpChannel& channel) {
    if (channel.state_ != TcpChannel::State::open && channel.state_ != TcpChannel::State::down)
        return false;
    if (has_hung_up(attempt.socket.get())) {  // a call that its end has dropped since
        attempt.end();
        return true;
    }
    if (channel.state_ == TcpChannel::State::open) {
        // The end with the smaller id calls as well, and its call may have been on its way when
        // ours got through. If it has no connection, its kernel answers this with a reset.
        if (attempt.handshake.introduction().caller < address_.id) {
            channel.grant(0);
            return false;
        }
        channel.cut("its other end lost the connection and reconnects");
    }
    park(attempt);
    return true;
}

// Keeps a connection until core connects its port.
void TcpInterface::park(Attempt& attempt) {
    const auto place = std::find_if(attempts_.begin(), attempts_.end(),
                                    [&](const auto& it) { return it.get() == &attempt; });
    const std::uint32_t port = attempt.handshake.introduction().to_port;
    for (const auto& it : arrivals_)
        if (it->handshake.introduction().to_port == port &&
            it->handshake.introduction().caller == attempt.handshake.introduction().caller)
            it->end();  // deleted after the poll, because the next event may name it
    attempt.become(Attempt::Stage::parked);
    // Its place in the list remains until the whole list has been processed.
    arrivals_.push_back(std::move(*place));
    *place = std::make_unique<Attempt>(base::Descriptor(),
                                       Handshake::listen(options_.secret, address_.id));
    (*place)->end();
}

void TcpInterface::accept(Attempt& attempt, TcpChannel& channel) {
    channel.state_ = TcpChannel::State::meeting;
    attempt.caller = &channel;
    attempt.handshake.accept();
    if (exchange(attempt)) attach_if_finished(attempt);
}

void TcpInterface::attach_if_finished(Attempt& attempt) {
    if (!attempt.handshake.finished()) return;
    attempt.end();
    TcpChannel& channel = *attempt.caller;
    if (channel.state_ >= TcpChannel::State::open) return;
    epoll_event event{EPOLLIN, {.u64 = mark(&channel, Watched::channel)}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, attempt.socket.get(), &event);
    if (hot_ == nullptr) hot_ = &channel;
    set_keepalive(attempt.socket.get(), options_.timeout, channel.is_made_good());
    limit_silence(attempt.socket.get(), channel.renews_
                                            ? std::min(options_.timeout, shortcut_silence)
                                            : std::chrono::nanoseconds(0));
    channel.open(std::move(attempt.socket));
    next_look_for_silence_ = std::min(next_look_for_silence_, Clock::now() + options_.timeout / 3);
    alarm_.set(next_look_for_silence_);
}

// A kernel that does not answer during the handshake is as silent as one that does not answer a
// call: the cable is out.
void TcpInterface::broken(Attempt& attempt, int error) {
    if (error == ETIMEDOUT)
        unanswered(attempt);
    else
        lost(attempt, std::strerror(error));
}

// The kernel asks at growing intervals, so its last question may be much older than the silence: a
// far rank, whose reachability has no other witness, is called once more.
void TcpInterface::unanswered(Attempt& attempt) {
    const TcpChannel* const channel = attempt.caller;
    if (channel != nullptr && !channel->mutual_ && channel->calls_ < 2)
        lost(attempt, std::strerror(ETIMEDOUT));
    else
        give_up(attempt, std::strerror(ETIMEDOUT));
}

// The connection has ended before the handshake. If the other end's process lives, it had to make
// room and may accept our next call; if not, its kernel refuses that one.
void TcpInterface::lost(Attempt& attempt, const std::string& why) {
    TcpChannel* const channel = attempt.caller;
    if (channel == nullptr || channel->patience_.again || channel->calls_ >= most_calls)
        return give_up(attempt, why);
    attempt.end();
    channel->state_ = TcpChannel::State::waiting;
    if (!attempt.called()) return;  // the caller will call again
    try {
        call(*channel);
    } catch (const std::runtime_error& error) {
        channel->fail(error.what());
    }
}

void TcpInterface::give_up(Attempt& attempt, const std::string& why) {
    attempt.end();
    TcpChannel* const channel = attempt.caller;
    if (channel == nullptr) return;  // a pending connection
    if (channel->patience_.again)
        begin_again(*channel, why);
    else
        channel->fail(fmt::format("cannot connect: {}", why));
}

// Nothing listens there: the other end's process has ended, or another host is at the cable.
void TcpInterface::refused(Attempt& attempt) {
    const std::string why = std::strerror(ECONNREFUSED);
    if (attempt.caller->patience_.give_up_at == Clock::time_point::max())
        return give_up(attempt, why);
    attempt.end();
    attempt.caller->fail(fmt::format("cannot connect: {}", why));
}

}  // namespace torusmp::transport::tcp

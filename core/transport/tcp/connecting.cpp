// How a TcpInterface establishes connections: calls, listeners, pending connections.
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

#include "base/descriptor.h"
#include "base/socket_address.h"
#include "core/transport/tcp/attempt.h"
#include "core/transport/tcp/channel.h"
#include "core/transport/tcp/interface.h"
#include "core/transport/tcp/sockets.h"

namespace torusmp::transport::tcp {
namespace {

// How many calls of one channel may be lost before a verdict, because the other end made room.
constexpr unsigned most_calls = 8;
// With this many unsent bytes in the kernel a socket counts as full, so that packets behind a large
// write do not wait for megabytes.
constexpr int most_unsent = 256 << 10;

std::string describe(const Endpoint& own, const Pair& pair, const Endpoint& theirs,
                     const std::string& peer_host) {
    return fmt::format(
        "{}{} to {}{} of {}", own.device.empty() ? "" : fmt::format("device {}, ", own.device),
        pair.own.text(), pair.peer.text(),
        theirs.device.empty() ? "" : fmt::format(" on {}", theirs.device), peer_host);
}

}  // namespace

Channel& TcpInterface::connect(ConstBytes peer_address, const ChannelOptions& options) {
    const Address peer = Address::decode(peer_address);
    const Endpoint& own = address_.endpoint(options.local_port);
    const Endpoint& theirs = peer.endpoint(options.remote_port);
    const auto pair = choose_pair(own, theirs);
    if (!pair)
        throw std::runtime_error(
            fmt::format("tcp: {} and {} share no network: expected addresses of one network at "
                        "both ends of a cable, or IPv6 link-local ones",
                        describe(own, options_.host), describe(theirs, peer.host)));
    auto made = std::make_unique<TcpChannel>(*this, port_options(options.local_port));
    TcpChannel& channel = *made;
    channel.name_ = describe(own, *pair, theirs, peer.host);
    channel.device_name_ = own.device;
    channel.device_ = own.device.empty() ? 0 : if_nametoindex(own.device.c_str());
    channel.remote_port_ = options.remote_port;
    channel.peer_ = peer.id;
    channel.from_ = base::socket_address(pair->own, 0, channel.device_);
    channel.to_ =
        base::socket_address(pair->peer, std::uint16_t(theirs.listens_on), channel.device_);

    const auto arrival = std::find_if(arrivals_.begin(), arrivals_.end(), [&](const auto& it) {
        const Introduction& said = it->handshake.introduction();
        return said.caller == peer.id && said.to_port == options.local_port &&
               said.from_port == options.remote_port;
    });
    if (arrival != arrivals_.end()) {
        Attempt& attempt = **arrival;
        attempts_.push_back(std::move(*arrival));
        arrivals_.erase(arrival);
        accept(attempt, channel);
    } else if (!options.mutual || address_.id > peer.id) {
        call(channel);
    }
    channels_.push_back(std::move(made));
    return channel;
}

void TcpInterface::tune(int socket) const {
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_buffer(socket, SO_SNDBUFFORCE, SO_SNDBUF, options_.socket_buffer);
    set_buffer(socket, SO_RCVBUFFORCE, SO_RCVBUF, options_.socket_buffer);
    set(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, most_unsent);
    // An idle connection is gone if the other end's kernel answers nothing for this long.
    using std::chrono::duration_cast;
    const auto milliseconds = duration_cast<std::chrono::milliseconds>(options_.timeout).count();
    const int third = int(std::max<std::int64_t>(1, milliseconds / 3000));
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPIDLE, third);
    set(socket, IPPROTO_TCP, TCP_KEEPINTVL, third);
    set(socket, IPPROTO_TCP, TCP_KEEPCNT, 2);
}

// How long our kernel goes on without an answer before it gives the connection up; 0: its default.
void TcpInterface::limit_silence(int socket, std::chrono::nanoseconds limit) const {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
    set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, int(std::min<std::int64_t>(milliseconds, 1 << 30)));
}

void TcpInterface::call(TcpChannel& channel) {
    ++channel.calls_;
    base::Descriptor socket(
        ::socket(channel.from_.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) fail(fmt::format("cannot open a socket for {}", channel.name_));
    bind_to_device(socket.get(), channel.device_name_);
    tune(socket.get());
    limit_silence(socket.get(), options_.timeout);
    const auto* const from = reinterpret_cast<const sockaddr*>(&channel.from_);
    const auto* const to = reinterpret_cast<const sockaddr*>(&channel.to_);
    if (bind(socket.get(), from, length_of(channel.from_)) != 0)
        fail(fmt::format("cannot bind a socket for {}", channel.name_));
    if (::connect(socket.get(), to, length_of(channel.to_)) != 0 && errno != EINPROGRESS)
        fail(fmt::format("cannot connect by {}", channel.name_));
    const Introduction introduction{address_.id, channel.peer_, channel.port_.port,
                                    channel.remote_port_};
    auto made = std::make_unique<Attempt>(Attempt{std::move(socket),
                                                  Handshake::call(options_.secret, introduction),
                                                  &channel, true, true, false});
    epoll_event event{EPOLLIN | EPOLLOUT, {.u64 = mark(made.get(), Watched::attempt)}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, made->socket.get(), &event) != 0) fail("epoll_ctl");
    attempts_.push_back(std::move(made));
    channel.state_ = TcpChannel::State::meeting;
}

// Connections that are opened and say nothing make room for the next one.
void TcpInterface::make_room() {
    Attempt* oldest = nullptr;
    Attempt* silent = nullptr;
    std::size_t pending = 0;
    for (const auto& it : attempts_) {
        if (it->caller != nullptr || it->over) continue;
        ++pending;
        if (oldest == nullptr) oldest = it.get();
        if (silent == nullptr && !it->handshake.introduced()) silent = it.get();
    }
    if (pending >= most_pending) (silent != nullptr ? silent : oldest)->over = true;
}

void TcpInterface::accept_from(std::size_t listening) {
    for (;;) {
        base::Descriptor socket(accept4(listening_[listening].socket.get(), nullptr, nullptr,
                                        SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) return;
        tune(socket.get());
        make_room();
        auto made = std::make_unique<Attempt>(
            Attempt{std::move(socket), Handshake::listen(options_.secret, address_.id)});
        epoll_event event{EPOLLIN, {.u64 = mark(made.get(), Watched::attempt)}};
        if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, made->socket.get(), &event) == 0)
            attempts_.push_back(std::move(made));
    }
}

// Writes and reads what the handshake needs next. False: it has ended.
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
                lost(attempt, std::strerror(errno));
                return false;
            }
            handshake.written(std::size_t(sent));
        }
        if (handshake.wants() == 0) return true;
        const std::size_t most = std::min(handshake.wants(), buffer.size());
        const ssize_t got = recv(attempt.socket.get(), buffer.data(), most, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (got <= 0) {
            lost(attempt, got == 0 ? "the other end has closed it" : std::strerror(errno));
            return false;
        }
        if (!handshake.read(std::span(buffer).first(std::size_t(got)))) {
            give_up(attempt, handshake.why());
            return false;
        }
    }
}

void TcpInterface::advance(Attempt& attempt, Sink& sink) {
    if (attempt.over) return;
    if (attempt.connecting) {
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(attempt.socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
        if (error == ECONNRESET) return lost(attempt, std::strerror(error));
        if (error != 0) return give_up(attempt, std::strerror(error));
        sockaddr_storage peer{};
        length = sizeof peer;
        if (getpeername(attempt.socket.get(), reinterpret_cast<sockaddr*>(&peer), &length) != 0)
            return;
        attempt.connecting = false;
        limit_silence(attempt.socket.get(), {});
        epoll_event event{EPOLLIN, {.u64 = mark(&attempt, Watched::attempt)}};
        epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, attempt.socket.get(), &event);
    }
    if (!exchange(attempt)) return;
    if (attempt.handshake.proven()) return decide(attempt, sink);
    if (!attempt.caller) return;
    attach_if_finished(attempt);
    if (attempt.handshake.refused()) {
        // Both ends have called, and it is the other's call that stays.
        attempt.over = true;
        if (attempt.caller->state_ == TcpChannel::State::meeting)
            attempt.caller->state_ = TcpChannel::State::waiting;
    }
}

// A caller has proved that it belongs to the job: is it the one that we expect, and does its call
// stay?
void TcpInterface::decide(Attempt& attempt, Sink& sink) {
    const Introduction& said = attempt.handshake.introduction();
    TcpChannel* channel = channel_of(said.to_port);
    if (channel == nullptr) {
        const std::uint32_t port = said.to_port;
        const auto place = std::find_if(attempts_.begin(), attempts_.end(),
                                        [&](const auto& it) { return it.get() == &attempt; });
        if (!has_port(port) || place == attempts_.end()) return give_up(attempt, "no such port");
        // Its place in the list stays until all of the list has been looked at.
        arrivals_.push_back(std::move(*place));
        *place = std::make_unique<Attempt>(Attempt{
            {}, Handshake::listen(options_.secret, address_.id), nullptr, false, false, true});
        return sink.on_connect(port);
    }
    const bool ours = channel->peer_ == said.caller && channel->remote_port_ == said.from_port;
    const bool stays = channel->state_ == TcpChannel::State::waiting ||
                       (channel->state_ == TcpChannel::State::meeting && said.caller > address_.id);
    // A caller that has nothing to expect here gets no verdict.
    if (!ours || channel->state_ >= TcpChannel::State::finished)
        return give_up(attempt, "not the one that belongs here");
    if (!stays) {
        attempt.handshake.refuse();
        exchange(attempt);
        attempt.over = true;
        return;
    }
    for (const auto& other : attempts_)
        if (other->caller == channel) other->over = true;
    accept(attempt, *channel);
}

void TcpInterface::accept(Attempt& attempt, TcpChannel& channel) {
    channel.state_ = TcpChannel::State::meeting;
    attempt.caller = &channel;
    attempt.handshake.accept();
    if (exchange(attempt)) attach_if_finished(attempt);
}

void TcpInterface::attach_if_finished(Attempt& attempt) {
    if (!attempt.handshake.finished()) return;
    attempt.over = true;
    TcpChannel& channel = *attempt.caller;
    if (channel.state_ >= TcpChannel::State::open) return;
    epoll_event event{EPOLLIN, {.u64 = mark(&channel, Watched::channel)}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, attempt.socket.get(), &event);
    if (hot_ == nullptr) hot_ = &channel;
    channel.open(std::move(attempt.socket));
}

// The connection has ended before the handshake. If the other end's process lives, it had to make
// room and may hear our next call to the end; if not, its kernel refuses that one.
void TcpInterface::lost(Attempt& attempt, const std::string& why) {
    TcpChannel* const channel = attempt.caller;
    if (channel == nullptr || channel->calls_ >= most_calls) return give_up(attempt, why);
    attempt.over = true;
    channel->state_ = TcpChannel::State::waiting;
    if (!attempt.called) return;  // the caller will call again
    try {
        call(*channel);
    } catch (const std::runtime_error& error) {
        channel->fail(error.what());
    }
}

void TcpInterface::give_up(Attempt& attempt, const std::string& why) {
    attempt.over = true;
    if (attempt.caller != nullptr)  // otherwise a pending connection
        attempt.caller->fail(fmt::format("cannot connect: {}", why));
}

}  // namespace torusmp::transport::tcp

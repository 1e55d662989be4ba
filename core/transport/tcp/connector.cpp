// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/tcp/connector.h"

#include <fmt/format.h>
#include <net/if.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/socket_address.h"
#include "core/transport/tcp/call_socket.h"
#include "core/transport/tcp/sockets.h"

namespace torusmp::transport::tcp {
namespace {

// The number of calls of one channel that may be lost before a verdict, because the other end made
// room.
constexpr unsigned most_calls = 8;
// After this time without acknowledgement, the packets of a shortcut are relayed; the shortcut is
// made again.
constexpr std::chrono::nanoseconds shortcut_silence = std::chrono::seconds(1);
// The interval between calls: the kernel's own retries would become ever less frequent.
constexpr std::chrono::milliseconds between_calls(250);

// While a link comes up for the first time, one end calls. The other end calls too when it has
// waited for this part of the timeout: only then does its own kernel report that the cable is dead.
// The calling end's news may have no other cable to travel on.
constexpr int part_of_timeout = 4;

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

void Connector::listen(Endpoint& endpoint) {
    const unsigned device = if_nametoindex(endpoint.device.c_str());
    // A device that is missing; this throws unless links may be dead.
    if (!endpoint.device.empty() && device == 0 && options_.spares_links) return;
    listeners_.open(endpoint, device);
}

void Connector::close() {
    attempts_.clear();
    arrivals_.clear();
    listeners_.close();
}

void Connector::begin(TcpChannel& channel) {
    const Calling& calling = channel.calling();
    const auto arrival = std::find_if(arrivals_.begin(), arrivals_.end(), [&](const auto& it) {
        const Introduction& said = it->handshake.introduction();
        return !it->is_over() && said.caller == channel.peer() && said.to_port == channel.port() &&
               said.from_port == channel.remote_port();
    });
    if (arrival != arrivals_.end()) {
        Attempt& attempt = **arrival;
        attempt.become(Attempt::Stage::introducing);
        attempts_.push_back(std::move(*arrival));
        arrivals_.erase(arrival);
        accept(attempt, channel);
    } else if (calling.mutual && options_.spares_links) {
        await_cable(channel, Clock::now());
    } else if (!calling.mutual || address_.id > channel.peer()) {
        call(channel);
    }
}

void Connector::call(TcpChannel& channel) {
    Calling& calling = channel.calling();
    ++calling.calls;
    calling.device = calling.device_name.empty() ? 0 : if_nametoindex(calling.device_name.c_str());
    if (!calling.pair) {  // addresses of ours may have appeared since
        Endpoint own = address_.endpoint(channel.port());
        own.addresses = addresses_kept_by(own.device);
        calling.pair = choose_pair(own, calling.theirs);
        if (!calling.pair)
            throw std::runtime_error(fmt::format("{} share no network", channel.name()));
    }
    base::Descriptor socket = call_socket(calling, channel.name(), options_);
    const Introduction introduction{address_.id, channel.peer(), channel.port(),
                                    channel.remote_port()};
    auto made = std::make_unique<Attempt>(std::move(socket),
                                          Handshake::call(options_.secret, introduction), channel);
    epoll_event event{EPOLLIN | EPOLLOUT, {.u64 = mark(made.get(), Watched::attempt)}};
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, made->socket.get(), &event) != 0) fail("epoll_ctl");
    attempts_.push_back(std::move(made));
    channel.become(TcpChannel::State::meeting);
}

// Drops a connection if too many are pending: the oldest that has not introduced itself, or else
// the oldest.
void Connector::make_room() {
    Attempt* oldest = nullptr;
    Attempt* silent = nullptr;
    std::size_t pending = 0;
    for (const auto& it : attempts_) {
        if (it->caller != nullptr || it->is_over()) continue;
        ++pending;
        if (oldest == nullptr) oldest = it.get();
        if (silent == nullptr && !it->handshake.introduced()) silent = it.get();
    }
    if (pending >= most_pending) (silent != nullptr ? silent : oldest)->end();
}

void Connector::accept_from(std::size_t listening) {
    while (base::Descriptor socket = listeners_.accept(listening)) {
        tune(socket.get(), options_);
        make_room();
        auto made = std::make_unique<Attempt>(std::move(socket),
                                              Handshake::listen(options_.secret, address_.id));
        epoll_event event{EPOLLIN, {.u64 = mark(made.get(), Watched::attempt)}};
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, made->socket.get(), &event) == 0)
            attempts_.push_back(std::move(made));
    }
    alarm_.set(listeners_.resume_at());
}

// Continues the handshake. Returns false if the attempt has ended.
bool Connector::exchange(Attempt& attempt) {
    const int error = attempt.exchange();
    if (error == 0) return true;
    if (error == Attempt::closed)
        lost(attempt, "the other end has closed it");
    else if (error == Attempt::invalid)
        give_up(attempt, attempt.handshake.why());
    else
        broken(attempt, error);
    return false;
}

void Connector::advance(Attempt& attempt, Sink& sink) {
    if (attempt.is_over()) return;
    // Nothing arrives before the verdict, so the caller has gone.
    if (attempt.stage() == Attempt::Stage::parked) return attempt.end();
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
        epoll_ctl(epoll_, EPOLL_CTL_MOD, attempt.socket.get(), &event);
    }
    if (!exchange(attempt)) return;
    if (attempt.handshake.proven()) return decide(attempt, sink);
    if (!attempt.caller) return;
    attach_if_finished(attempt);
    if (attempt.handshake.refused()) {
        // Both ends have called, and the other end's call is the one that stays.
        attempt.end();
        TcpChannel& channel = *attempt.caller;
        if (channel.state() != TcpChannel::State::meeting) return;
        channel.become(TcpChannel::State::waiting);
        // The other end may have mistaken for its call a connection that this end has lost.
        if (channel.calling().renews)
            alarm_.set(channel.calling().patience.give_up_at = Clock::now() + options_.timeout);
    }
}

// A caller has proved that it belongs to the job. Decides whether it is the expected one, and
// whether its call stays.
void Connector::decide(Attempt& attempt, Sink& sink) {
    const Introduction& said = attempt.handshake.introduction();
    TcpChannel* channel = owner_.channel_at(said.to_port);
    if (channel == nullptr) {
        const std::uint32_t port = said.to_port;
        if (!owner_.opens(port)) return give_up(attempt, "no such port");
        park(attempt);
        return sink.on_connect(port);
    }
    const bool ours = channel->peer() == said.caller && channel->remote_port() == said.from_port;
    if (!ours && channel->calling().patience.again)
        channel->calling().stranger =
            fmt::format("another rank of the job, at {}, is at its other end",
                        address_of_peer(attempt.socket.get()));
    if (ours && channel->is_made_good() && decide_again(attempt, *channel)) {
        if (channel->calling().renews && attempt.stage() == Attempt::Stage::parked)
            sink.on_connect(said.to_port);
        return;
    }
    const bool stays =
        channel->state() == TcpChannel::State::waiting ||
        (channel->state() == TcpChannel::State::meeting && said.caller > address_.id);
    // A caller that is not expected here gets no verdict.
    if (!ours || channel->state() >= TcpChannel::State::finished)
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
bool Connector::decide_again(Attempt& attempt, TcpChannel& channel) {
    if (channel.state() != TcpChannel::State::open && channel.state() != TcpChannel::State::down)
        return false;
    if (has_hung_up(attempt.socket.get())) {  // a call that its end has dropped since
        attempt.end();
        return true;
    }
    if (channel.state() == TcpChannel::State::open) {
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
void Connector::park(Attempt& attempt) {
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

void Connector::accept(Attempt& attempt, TcpChannel& channel) {
    channel.become(TcpChannel::State::meeting);
    attempt.caller = &channel;
    attempt.handshake.accept();
    if (exchange(attempt)) attach_if_finished(attempt);
}

void Connector::attach_if_finished(Attempt& attempt) {
    if (!attempt.handshake.finished()) return;
    attempt.end();
    TcpChannel& channel = *attempt.caller;
    if (channel.state() >= TcpChannel::State::open) return;
    set_keepalive(attempt.socket.get(), options_.timeout, channel.is_made_good());
    limit_silence(attempt.socket.get(), channel.calling().renews
                                            ? std::min(options_.timeout, shortcut_silence)
                                            : std::chrono::nanoseconds(0));
    channel.calling().patience.met = true;
    owner_.on_met(channel, std::move(attempt.socket));
}

// A kernel that does not answer during the handshake is as silent as one that does not answer a
// call: the cable is out.
void Connector::broken(Attempt& attempt, int error) {
    if (error == ETIMEDOUT)
        unanswered(attempt);
    else
        lost(attempt, std::strerror(error));
}

// The kernel asks at growing intervals, so its last question may be much older than the silence: a
// far rank, whose reachability has no other witness, is called once more.
void Connector::unanswered(Attempt& attempt) {
    const TcpChannel* const channel = attempt.caller;
    if (channel != nullptr && !channel->calling().mutual && channel->calling().calls < 2)
        lost(attempt, std::strerror(ETIMEDOUT));
    else
        give_up(attempt, std::strerror(ETIMEDOUT));
}

// The connection has ended before the handshake. If the other end's process lives, it had to make
// room and may accept our next call; if not, its kernel refuses that one.
void Connector::lost(Attempt& attempt, const std::string& why) {
    TcpChannel* const channel = attempt.caller;
    if (channel == nullptr || channel->calling().patience.again ||
        channel->calling().calls >= most_calls)
        return give_up(attempt, why);
    attempt.end();
    channel->become(TcpChannel::State::waiting);
    if (!attempt.called()) return;  // the caller will call again
    try {
        call(*channel);
    } catch (const std::runtime_error& error) {
        channel->fail(error.what());
    }
}

void Connector::give_up(Attempt& attempt, const std::string& why) {
    attempt.end();
    TcpChannel* const channel = attempt.caller;
    if (channel == nullptr) return;  // a pending connection
    if (channel->calling().patience.again)
        begin_again(*channel, why);
    else
        channel->fail(fmt::format("cannot connect: {}", why));
}

// Nothing listens there: the other end's process has ended, or another host is at the cable.
void Connector::refused(Attempt& attempt) {
    const std::string why = std::strerror(ECONNREFUSED);
    if (attempt.caller->calling().patience.give_up_at == Clock::time_point::max())
        return give_up(attempt, why);
    attempt.end();
    attempt.caller->fail(fmt::format("cannot connect: {}", why));
}

// ---- links whose cable is dead ----

// Calls, if that is now possible; if not, a link that is connected for the first time is given up
// at the next poll. A cable that has died often is tried when its pause is over, unless the other
// end calls before.
void Connector::await_cable(TcpChannel& channel, Clock::time_point now) {
    channel.become(TcpChannel::State::waiting);
    const bool is_called = !channel.calling().patience.again && address_.id < channel.peer();
    const bool has_waited = now >= channel.calling().call_at;
    if (now < channel.calling().patience.not_before) {
        channel.set_trouble("it has died too often");
        channel.calling().call_at = channel.calling().patience.not_before;
        return alarm_.set(channel.calling().call_at);
    }
    try {
        const std::string_view trouble = trouble_of_device(channel.calling().device_name);
        if (!trouble.empty()) throw std::runtime_error(fmt::format("its device {}", trouble));
        if (channel.calling().patience.again)
            listeners_.renew(channel.port(), if_nametoindex(channel.calling().device_name.c_str()));
        if (!is_called || has_waited) call(channel);
    } catch (const std::runtime_error& error) {
        channel.set_trouble(error.what());
        if (!channel.calling().patience.again) channel.calling().patience.give_up_at = now;
    }
    if (channel.calling().patience.again || is_called)
        channel.calling().call_at = now + pause_of(channel);
    alarm_.set(std::min(channel.calling().call_at, channel.calling().patience.give_up_at));
}

std::chrono::nanoseconds Connector::pause_of(const TcpChannel& channel) const {
    return channel.calling().patience.again ? between_calls : options_.timeout / part_of_timeout;
}

// A call has failed: the next one is made when it is due.
void Connector::begin_again(TcpChannel& channel, const std::string& why) {
    drop_calls(channel);
    channel.become(TcpChannel::State::waiting);
    channel.set_trouble(why);
}

bool Connector::has_reached_kernel(const TcpChannel& channel) const {
    return std::any_of(attempts_.begin(), attempts_.end(), [&](const auto& it) {
        return it->caller == &channel && it->stage() == Attempt::Stage::introducing;
    });
}

void Connector::drop_calls(const TcpChannel& channel) {
    for (const auto& it : attempts_)
        if (it->caller == &channel) it->end();
}

// ---- time ----

void Connector::tend(Clock::time_point now) {
    listeners_.resume(now);
    alarm_.set(listeners_.resume_at());
    for (const auto& it : channels_)
        if (it->connecting()) tend(*it, now);
}

void Connector::tend(TcpChannel& channel, Clock::time_point now) {
    Calling& calling = channel.calling();
    calling.patience.look(std::min(calling.call_at, calling.patience.give_up_at), now,
                          between_calls);
    if (now >= calling.call_at) {
        if (has_reached_kernel(channel)) {  // so there is a cable
            calling.call_at = now + pause_of(channel);
            if (calling.patience.give_up_at != Clock::time_point::max())
                calling.patience.give_up_at = now + options_.timeout;
        } else {
            drop_calls(channel);
            await_cable(channel, now);
        }
    }
    if (now >= calling.patience.give_up_at)
        channel.fail("the cable is missing or dead: " +
                     (!calling.stranger.empty()    ? calling.stranger
                      : !channel.trouble().empty() ? channel.trouble()
                                                   : "no answer"));
    else
        alarm_.set(std::min(calling.call_at, calling.patience.give_up_at));
}

void Connector::on_device(unsigned device, std::string_view what) {
    for (const auto& it : channels_) {
        TcpChannel& channel = *it;
        const Calling& calling = channel.calling();
        if ((calling.device != device && calling.leaves_by != device) || channel.is_over())
            continue;
        if (calling.patience.again && channel.connecting())
            begin_again(channel, fmt::format("its device {}", what));
        else
            channel.cut(fmt::format("its device {}", what));
    }
}

void Connector::call_all_again(Clock::time_point now) {
    for (const auto& it : channels_)
        if (Calling& calling = it->calling(); calling.patience.again && it->connecting())
            calling.call_at = std::max(now, calling.patience.not_before);
}

bool Connector::forget_ended() {
    const auto over = [](const auto& it) { return it->is_over(); };
    return std::erase_if(attempts_, over) + std::erase_if(arrivals_, over) != 0;
}

void Connector::forget(const TcpChannel& channel) {
    std::erase_if(attempts_, [&](const auto& it) { return it->caller == &channel; });
}

}  // namespace torusmp::transport::tcp

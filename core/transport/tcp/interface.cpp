#include "core/transport/tcp/interface.h"

#include <fmt/format.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "core/transport/tcp/channel.h"

namespace torusmp::transport::tcp {
namespace {

// What an epoll event is about: a kind in the low bits of a pointer or a number.
enum Watched : std::uint64_t { channel, attempt, listener, monitor, bell };
constexpr std::uint64_t kind_bits = 3;

std::uint64_t mark(const void* object, Watched kind) {
    return std::uint64_t(reinterpret_cast<std::uintptr_t>(object)) | kind;
}

// Calls of one channel that may be lost before a verdict: where the other end had to make room.
constexpr unsigned most_calls = 8;
// Looks in a row that must find a connection silent.
constexpr unsigned most_unanswered_looks = 2;
constexpr int events_a_look = 32;
// Polls of the busiest socket for each look at all of them: few where several are busy, many where
// one is.
constexpr unsigned least_look_mask = 1;
constexpr unsigned most_look_mask = 15;
constexpr unsigned busy_polls_a_look_for_silence = 256;
// Unsent bytes in the kernel beyond which a socket counts as full, so that packets behind a large
// write do not wait for megabytes.
constexpr int most_unsent = 256 << 10;

[[noreturn]] void fail(std::string_view what, int error = errno) {
    throw std::runtime_error(fmt::format("tcp: {}: {}", what, std::strerror(error)));
}

void set(int socket, int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof value);
}

// Takes the buffer that was asked for even beyond the system's limit where we may.
void set_buffer(int socket, int forced, int plain, std::size_t bytes) {
    const int value = int(std::min<std::size_t>(bytes, 1u << 30));
    if (setsockopt(socket, SOL_SOCKET, forced, &value, sizeof value) != 0)
        setsockopt(socket, SOL_SOCKET, plain, &value, sizeof value);
}

void bind_to_device(int socket, const std::string& device) {
    if (device.empty()) return;
    if (setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, device.c_str(), socklen_t(device.size())) !=
        0)
        fail(fmt::format("cannot bind a socket to device {}", device));
}

std::uint16_t port_of(int socket) {
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length) != 0) fail("getsockname");
    return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

socklen_t length_of(const sockaddr_storage& address) {
    return address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

// A listening socket for both families, or for IPv4 where the kernel has no other.
// most_calling: beyond them the kernel would not answer calls until some are accepted.
config::Descriptor open_listener(const std::string& device, std::size_t most_calling) {
    constexpr int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    config::Descriptor socket(::socket(AF_INET6, type, 0));
    sockaddr_storage any{};
    any.ss_family = AF_INET6;
    if (socket) {
        set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    } else {
        socket = config::Descriptor(::socket(AF_INET, type, 0));
        any.ss_family = AF_INET;
    }
    if (!socket) fail("cannot open a socket");
    bind_to_device(socket.get(), device);
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&any), length_of(any)) != 0 ||
        ::listen(socket.get(), int(most_calling)) != 0)
        fail(fmt::format("cannot listen{}", device.empty() ? "" : " on device " + device));
    return socket;
}

std::string describe(const Endpoint& own, const Pair& pair, const Endpoint& theirs,
                     const std::string& peer_host) {
    return fmt::format(
        "{}{} to {}{} of {}", own.device.empty() ? "" : fmt::format("device {}, ", own.device),
        pair.own.text(), pair.peer.text(),
        theirs.device.empty() ? "" : fmt::format(" on {}", theirs.device), peer_host);
}

}  // namespace

// A connection that is coming about.
struct TcpInterface::Attempt {
    config::Descriptor socket;
    Handshake handshake;
    TcpChannel* caller = nullptr;  // null: a stranger's, that came in by a listener
    bool called = false;           // by this end
    bool connecting = false;       // in the kernels' hands
    bool over = false;
};

TcpInterface::TcpInterface(const std::vector<PortOptions>& ports, InterfaceOptions options)
    : options_(std::move(options)),
      ports_(ports),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!epoll_ || !bell_) fail("cannot open epoll or an eventfd");
    draw(address_.id);
    address_.host = options_.host;
    for (const auto& device : options_.devices) {
        const auto of_port = [&](const PortOptions& port) { return port.port == device.port; };
        if (std::none_of(ports.begin(), ports.end(), of_port)) continue;
        Endpoint endpoint{device.port, 0, device.name, {}};
        try {
            endpoint.addresses = addresses_of(device.name);
        } catch (const std::runtime_error& error) {
            throw std::runtime_error(fmt::format("tcp: host {}: {}", options_.host, error.what()));
        }
        address_.endpoints.push_back(std::move(endpoint));
    }
    for (std::size_t i = 0; i < address_.endpoints.size(); ++i) listen(address_.endpoints[i]);
    if (address_.endpoints.size() < ports.size()) {
        address_.anywhere.addresses = addresses_for_far_peers(address_.endpoints);
        listen(address_.anywhere);
    }
    const auto watch = [&](int descriptor, Watched kind) {
        epoll_event event{EPOLLIN, {.u64 = kind}};
        if (descriptor >= 0 && epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
            fail("epoll_ctl");
    };
    watch(bell_.get(), Watched::bell);
    watch(monitor_.descriptor(), Watched::monitor);
}

TcpInterface::~TcpInterface() {
    say_farewell();
}

void TcpInterface::say_farewell() {
    for (const auto& it : channels_) it->say_farewell();
    attempts_.clear();
    arrivals_.clear();
    listening_.clear();
}

void TcpInterface::listen(Endpoint& endpoint) {
    const std::size_t index = std::size_t(&endpoint - address_.endpoints.data());
    const bool anywhere = &endpoint == &address_.anywhere;
    config::Descriptor socket = open_listener(endpoint.device, ports_.size() + most_strangers);
    endpoint.listens_on = port_of(socket.get());
    epoll_event event{EPOLLIN, {.u64 = listening_.size() << kind_bits | Watched::listener}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0) fail("epoll_ctl");
    listening_.push_back({std::move(socket), anywhere ? address_.endpoints.size() : index});
}

const PortOptions& TcpInterface::port_options(std::uint32_t port) const {
    for (const PortOptions& options : ports_)
        if (options.port == port) return options;
    throw std::runtime_error(fmt::format("tcp: port {} was not opened", port));
}

TcpChannel* TcpInterface::channel_of(std::uint32_t port) const {
    for (const auto& it : channels_)
        if (it->port_.port == port) return it.get();
    return nullptr;
}

// ---- connections coming about ----

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
    channel.from_ = pair->own.socket_address(0, channel.device_);
    channel.to_ = pair->peer.socket_address(std::uint16_t(theirs.listens_on), channel.device_);

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
    // An idle connection whose other end's kernel answers nothing for this long is gone.
    using std::chrono::duration_cast;
    const auto milliseconds = duration_cast<std::chrono::milliseconds>(options_.timeout).count();
    const int third = int(std::max<std::int64_t>(1, milliseconds / 3000));
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPIDLE, third);
    set(socket, IPPROTO_TCP, TCP_KEEPINTVL, third);
    set(socket, IPPROTO_TCP, TCP_KEEPCNT, 2);
}

// How long the kernel goes on without an answer before it gives the connection up; 0: as usual.
void TcpInterface::limit_silence(int socket, std::chrono::nanoseconds limit) const {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
    set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, int(std::min<std::int64_t>(milliseconds, 1 << 30)));
}

void TcpInterface::call(TcpChannel& channel) {
    ++channel.calls_;
    config::Descriptor socket(
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
    channel.state_ = TcpChannel::State::calling;
}

// Whoever opens connections and says nothing makes room for the next one.
void TcpInterface::make_room() {
    Attempt* oldest = nullptr;
    Attempt* silent = nullptr;
    std::size_t strangers = 0;
    for (const auto& it : attempts_) {
        if (it->caller != nullptr || it->over) continue;
        ++strangers;
        if (oldest == nullptr) oldest = it.get();
        if (silent == nullptr && !it->handshake.introduced()) silent = it.get();
    }
    if (strangers >= most_strangers) (silent != nullptr ? silent : oldest)->over = true;
}

void TcpInterface::accept_from(std::size_t listening) {
    for (;;) {
        config::Descriptor socket(accept4(listening_[listening].socket.get(), nullptr, nullptr,
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

// Writes and reads what the handshake wants next. False: it has come to an end.
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
        // Both ends called: the other's call is the one that stays.
        attempt.over = true;
        if (attempt.caller->state_ == TcpChannel::State::calling)
            attempt.caller->state_ = TcpChannel::State::waiting;
    }
}

// A caller has proven that it belongs to the job: is it the one, and does its call stay?
void TcpInterface::decide(Attempt& attempt, Sink& sink) {
    const Introduction& said = attempt.handshake.introduction();
    TcpChannel* channel = channel_of(said.to_port);
    if (channel == nullptr) {
        const std::uint32_t port = said.to_port;
        const bool known = std::any_of(ports_.begin(), ports_.end(),
                                       [&](const PortOptions& it) { return it.port == port; });
        const auto place = std::find_if(attempts_.begin(), attempts_.end(),
                                        [&](const auto& it) { return it.get() == &attempt; });
        if (!known || place == attempts_.end()) return give_up(attempt, "no such port");
        // Its place in the list is kept until this look is over.
        arrivals_.push_back(std::move(*place));
        *place = std::make_unique<Attempt>(Attempt{
            {}, Handshake::listen(options_.secret, address_.id), nullptr, false, false, true});
        return sink.on_connect(port);
    }
    const bool ours = channel->peer_ == said.caller && channel->remote_port_ == said.from_port;
    const bool stays = channel->state_ == TcpChannel::State::waiting ||
                       (channel->state_ == TcpChannel::State::calling && said.caller > address_.id);
    // Who has nothing to wait for here is not told to.
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
    channel.state_ = TcpChannel::State::calling;
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

// The connection has ended before the handshake. If the other end's process lives it had to make
// room, and may hear the next call out; if not, its kernel refuses that one.
void TcpInterface::lost(Attempt& attempt, const std::string& why) {
    TcpChannel* const channel = attempt.caller;
    if (channel == nullptr || channel->calls_ >= most_calls) return give_up(attempt, why);
    attempt.over = true;
    channel->state_ = TcpChannel::State::waiting;
    if (!attempt.called) return;  // who called will do so again
    try {
        call(*channel);
    } catch (const std::runtime_error& error) {
        channel->fail(error.what());
    }
}

void TcpInterface::give_up(Attempt& attempt, const std::string& why) {
    attempt.over = true;
    if (attempt.caller != nullptr)  // else a stranger
        attempt.caller->fail(fmt::format("cannot connect: {}", why));
}

// ---- polling ----

int TcpInterface::poll(Sink& sink) {
    polling_ = true;
    ++turn_;
    int taken = 0;
    if (holding_ != 0)
        for (const auto& it : channels_)
            if (it->held_count_ != 0) taken += it->offer_held(sink);
    if ((turn_ & look_mask_) != 0 && hot_ != nullptr && blocked_ == 0) {
        const int brought = hot_->receive(sink);
        if (brought != 0) look_mask_ = std::min(2 * look_mask_ + 1, most_look_mask);
        taken += brought;
    } else {
        taken += look(sink);
    }
    flush_dirty();
    polling_ = false;
    const auto over = [](const auto& it) { return it->over; };
    std::erase_if(attempts_, over);
    std::erase_if(arrivals_, over);
    if (!fallen_.empty() || !transfers_.empty()) tell(sink);
    return taken;
}

int TcpInterface::look(Sink& sink) {
    std::array<epoll_event, events_a_look> events;
    const int count = epoll_wait(epoll_.get(), events.data(), int(events.size()), 0);
    if (count <= 0 || turn_ % busy_polls_a_look_for_silence == 0) look_for_silence();
    int taken = 0;
    for (int i = 0; i < count; ++i) {
        const std::uint64_t what = events[std::size_t(i)].data.u64;
        const auto pointer = std::uintptr_t(what & ~((std::uint64_t{1} << kind_bits) - 1));
        switch (Watched(what & ((std::uint64_t{1} << kind_bits) - 1))) {
            case Watched::channel:
                taken += serve(*reinterpret_cast<TcpChannel*>(pointer),
                               events[std::size_t(i)].events, sink);
                break;
            case Watched::attempt:
                advance(*reinterpret_cast<Attempt*>(pointer), sink);
                break;
            case Watched::listener:
                accept_from(what >> kind_bits);
                break;
            case Watched::monitor:
                read_monitor();
                break;
            case Watched::bell:
                break;  // rung for a sleeper; silenced before the next sleep
        }
    }
    return taken;
}

int TcpInterface::serve(TcpChannel& channel, std::uint32_t events, Sink& sink) {
    if ((events & EPOLLOUT) != 0) channel.flush();
    if ((events & ~std::uint32_t(EPOLLOUT)) == 0) return 0;
    const int taken = channel.receive(sink);
    if (taken != 0 && std::exchange(hot_, &channel) != &channel) look_mask_ = least_look_mask;
    return taken;
}

void TcpInterface::look_for_silence() {
    const auto now = Clock::now();
    if (now < next_look_for_silence_) return;
    next_look_for_silence_ = now + options_.timeout / 3;
    for (const auto& it : channels_) {
        if (it->state_ != TcpChannel::State::open) continue;
        it->unanswered_looks_ = it->is_unanswered(options_.timeout) ? it->unanswered_looks_ + 1 : 0;
        if (it->unanswered_looks_ >= most_unanswered_looks)
            it->fail("its host does not answer any more: it is down, or the cable is out");
    }
}

void TcpInterface::read_monitor() {
    monitor_.read([this](unsigned device, std::string_view what) {
        for (const auto& it : channels_)
            if (it->device_ == device && it->state_ < TcpChannel::State::finished)
                it->fail(fmt::format("its device {}", what));
    });
}

void TcpInterface::flush_dirty() {
    for (std::size_t i = 0; i < dirty_.size(); ++i) {
        dirty_[i]->dirty_ = false;
        if (!dirty_[i]->blocked_) dirty_[i]->flush();
    }
    dirty_.clear();
}

void TcpInterface::tell(Sink& sink) {
    for (const Finished& it : std::exchange(transfers_, {}))
        sink.on_transfer(*it.channel, it.cookie, it.ok);
    for (TcpChannel* it : std::exchange(fallen_, {})) {
        if (hot_ == it) hot_ = nullptr;
        if (!std::exchange(it->down_told_, true))
            sink.on_down(*it, fmt::format("{} ({})", it->why_, it->name_));
    }
}

void TcpInterface::make_dirty(TcpChannel& channel) {
    if (channel.dirty_ || channel.blocked_ || channel.state_ != TcpChannel::State::open) return;
    channel.dirty_ = true;
    dirty_.push_back(&channel);
}

void TcpInterface::channel_blocked(TcpChannel& channel) {
    blocked_ += channel.blocked_ ? 1u : ~std::size_t{0};
    if (!channel.socket_) return;
    epoll_event event{EPOLLIN, {.u64 = mark(&channel, Watched::channel)}};
    if (channel.blocked_) event.events |= EPOLLOUT;
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, channel.socket_.get(), &event);
}

// Who is still waited for.
std::string TcpInterface::statistics() const {
    std::string text;
    for (const auto& it : channels_)
        if (it->connecting())
            text += fmt::format("tcp: {}: the other end has not answered yet\n", it->name_);
    return text;
}

// ---- memory ----

RemoteMemory TcpInterface::expose(Bytes memory, const Channel* /*channel*/) {
    return {0, memory.size(), 0, {exposures_.add(memory)}};
}

void TcpInterface::conceal(const RemoteMemory& memory) {
    exposures_.remove(memory.key[0]);
}

void* TcpInterface::allocate(std::size_t bytes, std::size_t alignment) {
    const std::size_t whole = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment;
    return std::aligned_alloc(alignment, whole * alignment);
}

void TcpInterface::free(void* memory) {
    std::free(memory);
}

// ---- sleeping ----

bool TcpInterface::idle() const {
    return std::all_of(channels_.begin(), channels_.end(), [](const auto& it) {
        return it->state_ >= TcpChannel::State::finished ||
               (it->out_.empty() && it->writes_.empty());
    });
}

void TcpInterface::prepare_sleep() {
    std::uint64_t rings = 0;
    if (read(bell_.get(), &rings, sizeof rings) < 0) rings = 0;  // nobody rang
    flush_dirty();
    // The next look must see everything, not the hot socket alone.
    turn_ |= look_mask_;
}

void TcpInterface::sleep(Clock::time_point deadline) {
    using std::chrono::milliseconds;
    if (!channels_.empty()) deadline = std::min(deadline, next_look_for_silence_);
    int timeout = -1;
    if (deadline != Clock::time_point::max()) {
        const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
        timeout = int(std::clamp<std::int64_t>(left, 0, 1 << 30));
    }
    epoll_event event{};
    epoll_wait(epoll_.get(), &event, 1, timeout);
}

void TcpInterface::wake() noexcept {
    const std::uint64_t one = 1;
    if (write(bell_.get(), &one, sizeof one) < 0) return;  // it rings already
}

}  // namespace torusmp::transport::tcp

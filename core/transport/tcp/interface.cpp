// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/tcp/interface.h"

#include <fmt/format.h>
#include <net/if.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "core/transport/tcp/attempt.h"
#include "core/transport/tcp/channel.h"
#include "core/transport/tcp/sockets.h"

namespace torusmp::transport::tcp {
namespace {

// The number of polls of the busiest socket for each look at all sockets: none while several are
// busy, many if only one is.
constexpr unsigned most_look_mask = 15;

}  // namespace

TcpInterface::TcpInterface(const std::vector<PortOptions>& ports, InterfaceOptions options)
    : Network("tcp", capabilities, ports, options.host),
      options_(std::move(options)),
      listeners_(epoll_.get(), ports_.size() + most_pending, options_.host, options_.log) {
    for (const auto& device : options_.devices) {
        if (!has_port(device.port)) continue;
        Endpoint endpoint{device.port, 0, device.name, {}};
        try {
            endpoint.addresses = addresses_of(device.name);
        } catch (const std::runtime_error& error) {
            if (!options_.spares_links)
                throw std::runtime_error(
                    fmt::format("tcp: host {}: {}", options_.host, error.what()));
            endpoint.addresses = addresses_kept_by(device.name);
        }
        address_.endpoints.push_back(std::move(endpoint));
    }
    for (std::size_t i = 0; i < address_.endpoints.size(); ++i) listen(address_.endpoints[i]);
    if (address_.endpoints.size() < ports.size()) {
        address_.anywhere.addresses = addresses_for_far_peers(address_.endpoints);
        listen(address_.anywhere);
    }
    watch(bell_.get(), Watched::bell);
    watch(monitor_.descriptor(), Watched::monitor);
    watch(alarm_.descriptor(), Watched::alarm);
}

TcpInterface::~TcpInterface() {
    say_goodbye();
}

void TcpInterface::say_goodbye() {
    for (const auto& it : channels_) it->say_goodbye();
    attempts_.clear();
    arrivals_.clear();
    listeners_.close();
}

void TcpInterface::listen(Endpoint& endpoint) {
    const unsigned device = if_nametoindex(endpoint.device.c_str());
    // A device that is missing; this throws unless links may be dead.
    if (!endpoint.device.empty() && device == 0 && options_.spares_links) return;
    listeners_.open(endpoint, device);
}

// Drops a connection if too many are pending: the oldest that has not introduced itself, or else
// the oldest.
void TcpInterface::make_room() {
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

void TcpInterface::accept_from(std::size_t listening) {
    while (base::Descriptor socket = listeners_.accept(listening)) {
        tune(socket.get());
        make_room();
        auto made = std::make_unique<Attempt>(std::move(socket),
                                              Handshake::listen(options_.secret, address_.id));
        epoll_event event{EPOLLIN, {.u64 = mark(made.get(), Watched::attempt)}};
        if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, made->socket.get(), &event) == 0)
            attempts_.push_back(std::move(made));
    }
    alarm_.set(listeners_.resume_at());
}

// ---- polling ----

int TcpInterface::poll(Sink& sink) {
    polling_ = true;
    ++turn_;
    int taken = offer_held(sink);
    if ((turn_ & look_mask_) != 0 && hot_ != nullptr && blocked_ == 0)
        taken += hot_->receive(sink);
    else if (!sleeps_next_)
        taken += look(sink);
    flush_dirty();
    polling_ = false;
    if (!attempts_.empty() || !arrivals_.empty()) forget_attempts();
    if (has_news()) {
        if (hot_ != nullptr && hot_->state_ >= TcpChannel::State::finished) hot_ = nullptr;
        report_news(sink);
    }
    if (!replaced_.empty()) bury();
    return taken;
}

void TcpInterface::forget_attempts() {
    const auto over = [](const auto& it) { return it->is_over(); };
    if (std::erase_if(attempts_, over) + std::erase_if(arrivals_, over) != 0) forget_events();
}

// Events taken from the kernel may name a deleted object. They are dropped; the kernel reports them
// again.
void TcpInterface::forget_events() {
    ++forgotten_;
    woken_by_.count = 0;
}

int TcpInterface::look(Sink& sink) {
    Events events;
    if (woken_by_.count != 0) {
        events = woken_by_;
        woken_by_.count = 0;
    } else {
        events.wait(epoll_.get(), 0);
    }
    int taken = 0;
    for (int i = 0; i < events.count; ++i) {
        const std::uint64_t what = events.list[std::size_t(i)].data.u64;
        const auto pointer = std::uintptr_t(what & ~((std::uint64_t{1} << kind_bits) - 1));
        switch (Watched(what & ((std::uint64_t{1} << kind_bits) - 1))) {
            case Watched::channel:
                taken += serve(*reinterpret_cast<TcpChannel*>(pointer),
                               events.list[std::size_t(i)].events, sink);
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
            case Watched::alarm:
                tend(Clock::now());
                break;
            case Watched::bell:
                break;  // rung to wake a sleeper; silenced before the next sleep
            case Watched::companion:
                break;
        }
    }
    return taken;
}

int TcpInterface::serve(TcpChannel& channel, std::uint32_t events, Sink& sink) {
    if ((events & EPOLLOUT) != 0) channel.flush();
    if ((events & ~std::uint32_t(EPOLLOUT)) == 0) return 0;
    const int taken = channel.receive(sink);
    if (taken != 0)
        look_mask_ = std::exchange(hot_, &channel) != &channel
                         ? 0
                         : std::min(2 * look_mask_ + 1, most_look_mask);
    return taken;
}

void TcpInterface::read_monitor() {
    const bool usable = monitor_.read([this](unsigned device, std::string_view what) {
        for (const auto& it : channels_) {
            if ((it->device_ != device && it->leaves_by_ != device) ||
                it->state_ >= TcpChannel::State::finished)
                continue;
            if (it->patience_.again && it->connecting())
                begin_again(*it, fmt::format("its device {}", what));
            else
                it->cut(fmt::format("its device {}", what));
        }
    });
    if (!usable) return;
    const auto now = Clock::now();
    for (const auto& it : channels_)
        if (it->patience_.again && it->connecting())
            it->call_at_ = std::max(now, it->patience_.not_before);
    tend(now);
}

void TcpInterface::flush_dirty() {
    for (std::size_t i = 0; i < dirty_.size(); ++i) {
        dirty_[i]->dirty_ = false;
        if (!dirty_[i]->blocked_) dirty_[i]->flush();
    }
    dirty_.clear();
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

// ---- memory ----

RemoteMemory TcpInterface::register_memory(Bytes memory, const Channel* /*channel*/) {
    RemoteMemory remote{0, memory.size(), 0, {}};
    remote.set(MemoryId(exposures_.add(memory)));
    return remote;
}

void TcpInterface::deregister_memory(const RemoteMemory& memory) {
    exposures_.remove(memory.as<MemoryId>());
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
    silence_bell();
    flush_dirty();
    // The poll before the sleep does not look: events up to now end the sleep immediately.
    sleeps_next_ = true;
    turn_ |= look_mask_;
    known_forgotten_ = forgotten_;
}

void TcpInterface::watch_for_companion(int descriptor) {
    watch(descriptor, Watched::companion);
}

bool TcpInterface::slept_for_companion() const {
    const auto& events = slept_until_;
    return events.count > 0 && std::size_t(events.count) < events.list.size() &&
           std::all_of(events.list.begin(), events.list.begin() + events.count,
                       [](const epoll_event& it) { return it.data.u64 == Watched::companion; });
}

void TcpInterface::sleep(Clock::time_point deadline) {
    slept_until_.wait(epoll_.get(), milliseconds_until(deadline));
}

// The next look handles the events that have ended the sleep, unless they name a deleted object.
void TcpInterface::cancel_sleep() {
    sleeps_next_ = false;
    turn_ |= look_mask_;
    if (known_forgotten_ == forgotten_) woken_by_ = slept_until_;
    slept_until_.count = 0;
}

void TcpInterface::Events::wait(int epoll, int milliseconds) {
    count = std::max(0, epoll_wait(epoll, list.data(), int(list.size()), milliseconds));
}

}  // namespace torusmp::transport::tcp

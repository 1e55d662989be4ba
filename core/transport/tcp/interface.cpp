// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/tcp/interface.h"

#include <fmt/format.h>
#include <net/if.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "core/transport/common/route.h"
#include "core/transport/tcp/attempt.h"
#include "core/transport/tcp/channel.h"
#include "core/transport/tcp/sockets.h"

namespace torusmp::transport::tcp {
namespace {

// The number of polls of the busiest socket for each look at all sockets: none while several are
// busy, many if only one is.
constexpr unsigned most_look_mask = 15;

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

}  // namespace

TcpInterface::TcpInterface(const std::vector<PortOptions>& ports, InterfaceOptions options)
    : Network("tcp", capabilities, ports, options.host),
      options_(std::move(options)),
      connector_(options_, address_, epoll_.get(), alarm_, ports_.size(), channels_, *this) {
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
    for (std::size_t i = 0; i < address_.endpoints.size(); ++i)
        connector_.listen(address_.endpoints[i]);
    if (address_.endpoints.size() < ports.size()) {
        address_.anywhere.addresses = addresses_for_far_peers(address_.endpoints);
        connector_.listen(address_.anywhere);
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
    connector_.close();
}

// ---- channels ----

Channel& TcpInterface::connect(ConstBytes peer_address, const ChannelOptions& options) {
    const Address peer = Address::decode(peer_address);
    const Endpoint& own = address_.endpoint(options.local_port);
    const Endpoint& theirs = peer.endpoint(options.remote_port);
    const bool spared = options.mutual && options_.spares_links;
    const auto pair = choose_pair(own, theirs);
    if (!pair && !spared) refuse_addresses(own, options_.host, theirs, peer.host);
    auto made = std::make_unique<TcpChannel>(
        *this, port_options(options.local_port),
        TcpChannel::Ends{pair ? describe(own, *pair, theirs, peer.host)
                              : fmt::format("{} to {}", describe(own, options_.host),
                                            describe(theirs, peer.host)),
                         peer.id, options.remote_port});
    TcpChannel& channel = *made;
    Calling& calling = channel.calling();
    calling.pair = pair;
    calling.device_name = own.device;
    calling.device = own.device.empty() ? 0 : if_nametoindex(own.device.c_str());
    calling.theirs = theirs;
    calling.mutual = options.mutual;
    calling.renews = options.renews;
    if (options.renews) calling.leaves_by = require_route(*pair, peer.host);
    const auto before = std::find_if(channels_.begin(), channels_.end(), [&](const auto& it) {
        return it->port() == options.local_port;
    });
    if (before != channels_.end()) {
        (*before)->close("it is connected again");
        if (options.mutual)
            calling.patience.follow((*before)->calling().patience, options, options_.timeout);
    }
    connector_.begin(channel);
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

void TcpInterface::on_met(TcpChannel& channel, base::Descriptor socket) {
    epoll_event event{EPOLLIN, {.u64 = mark(&channel, Watched::channel)}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket.get(), &event);
    if (hot_ == nullptr) hot_ = &channel;
    channel.open(std::move(socket));
    next_look_for_silence_ = std::min(next_look_for_silence_, Clock::now() + options_.timeout / 3);
    alarm_.set(next_look_for_silence_);
}

// Destroys replaced channels; nothing refers to them.
void TcpInterface::bury() {
    const auto is_replaced = [&](const NetworkChannel* channel) {
        return std::any_of(replaced_.begin(), replaced_.end(),
                           [&](const auto& it) { return it.get() == channel; });
    };
    std::erase_if(transfers_, [&](const Finished& it) { return is_replaced(it.channel); });
    std::erase_if(fallen_, is_replaced);
    std::erase_if(dirty_, is_replaced);
    for (const auto& it : replaced_) connector_.forget(*it);
    forget_events();
    if (is_replaced(hot_)) hot_ = nullptr;
    replaced_.clear();
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
    if (!connector_.is_idle() && connector_.forget_ended()) forget_events();
    if (has_news()) {
        if (hot_ != nullptr && hot_->is_over()) hot_ = nullptr;
        report_news(sink);
    }
    if (!replaced_.empty()) bury();
    return taken;
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
                connector_.advance(*reinterpret_cast<Attempt*>(pointer), sink);
                break;
            case Watched::listener:
                connector_.accept_from(what >> kind_bits);
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
    const bool usable = monitor_.read(
        [this](unsigned device, std::string_view what) { connector_.on_device(device, what); });
    if (!usable) return;
    const auto now = Clock::now();
    connector_.call_all_again(now);
    tend(now);
}

// Does the work that is due.
void TcpInterface::tend(Clock::time_point now) {
    alarm_.silence();
    connector_.tend(now);
    if (now >= next_look_for_silence_) {
        next_look_for_silence_ = now + options_.timeout / 3;
        for (const auto& it : channels_)
            if (it->is_open())
                next_look_for_silence_ =
                    std::min(next_look_for_silence_, it->look_for_silence(now, options_.timeout));
    }
    alarm_.set(next_look_for_silence_);
}

void TcpInterface::flush_dirty() {
    for (std::size_t i = 0; i < dirty_.size(); ++i) dirty_[i]->flush_queued();
    dirty_.clear();
}

bool TcpInterface::take_back_end(const TcpChannel& channel) {
    if (transfers_.empty() || transfers_.back().channel != &channel) return false;
    transfers_.pop_back();
    return true;
}

void TcpInterface::on_fall(TcpChannel& channel) {
    connector_.drop_calls(channel);
    fallen_.push_back(&channel);
}

void TcpInterface::on_blocked(TcpChannel& channel, int socket, bool blocked) {
    blocked_ += blocked ? 1u : ~std::size_t{0};
    if (socket < 0) return;
    epoll_event event{EPOLLIN, {.u64 = mark(&channel, Watched::channel)}};
    if (blocked) event.events |= EPOLLOUT;
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket, &event);
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
    return std::all_of(channels_.begin(), channels_.end(),
                       [](const auto& it) { return it->is_idle(); });
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

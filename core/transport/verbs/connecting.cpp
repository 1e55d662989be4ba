// How a VerbsInterface establishes connections: hellos by datagram.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "core/transport/verbs/interface.h"

namespace torusmp::transport::verbs {
namespace {

using std::chrono::milliseconds;

// A longer time without a look at the clock means that this process had other things to do; no more
// than this of it counts as waiting.
constexpr milliseconds longest_gap(100);
constexpr milliseconds first_hello_pause(10);
constexpr milliseconds longest_hello_pause(500);

// The addresses over which two ends talk: over a cable or, if there is none between them, by routed
// addresses.
std::optional<Pair> pair_for(const Endpoint& own, const Endpoint& peer, bool cable) {
    if (cable) return choose_pair(own, peer);
    Endpoint here = own;
    Endpoint there = peer;
    here.device.clear();
    there.device.clear();
    if (const auto routed = choose_pair(here, there)) return routed;
    return choose_pair(own, peer);
}

std::string describe(const Device& device, const Pair& pair, const Endpoint& theirs,
                     const std::string& host) {
    return fmt::format("{}, {} to {} on {} of {}", device.text(), pair.own.text(), pair.peer.text(),
                       theirs.device, host);
}

}  // namespace

Channel& VerbsInterface::connect(ConstBytes peer_address, const ChannelOptions& options) {
    const Address peer = Address::decode(peer_address);
    Device& device = device_of(options.local_port);
    const Endpoint& own = address_.endpoint(options.local_port);
    const Endpoint& theirs = peer.endpoint(options.remote_port);
    if (theirs.device.empty())
        throw std::runtime_error(fmt::format("verbs: {} has no port {} on an RDMA device",
                                             peer.host, options.remote_port));
    const auto pair = pair_for(own, theirs, options.mutual);
    if (!pair)
        throw std::runtime_error(
            fmt::format("verbs: {} and {} share no network: expected RoCE v2 GIDs of one network "
                        "at both ends of a cable, or IPv6 link-local ones",
                        describe(own, options_.host), describe(theirs, peer.host)));
    auto made = std::make_unique<VerbsChannel>(*this, std::uint32_t(channels_.size()), device,
                                               port_options(options.local_port));
    VerbsChannel& channel = *made;
    channel.name_ = describe(device, *pair, theirs, peer.host);
    channel.peer_ = peer.id;
    channel.remote_port_ = options.remote_port;
    channel.greeter_ = theirs.listens_on;
    channel.path_.is_global = 1;
    channel.path_.port_num = device.port();
    channel.path_.grh.dgid = gid_from(pair->peer);
    channel.path_.grh.sgid_index = device.gid_of(pair->own);
    channel.path_.grh.hop_limit = 64;
    channel.mutual_ = options.mutual;
    channel.hello_pause_ = first_hello_pause;
    channels_.push_back(std::move(made));
    ++waiting_;
    if (const auto pending = pending_.find(options.local_port); pending != pending_.end()) {
        channel.heard_ = pending->second;
        pending_.erase(pending);
    }
    if (!try_to_reach(channel)) greet(channel);
    return channel;
}

// Tells the peer's device which queue pair this is, and whether it can receive.
void VerbsInterface::greet(VerbsChannel& channel) {
    channel.next_hello_ = Clock::now() + channel.hello_pause_;
    channel.hello_pause_ = std::min(2 * channel.hello_pause_, longest_hello_pause);
    if (!channel.greets_)
        channel.greets_.reset(ibv_create_ah(channel.device_.domain(), &channel.path_));
    if (!channel.greets_) {
        channel.trouble_ = fmt::format("its address does not resolve: {}", std::strerror(errno));
        return;
    }
    Hello hello{};
    hello.greeting = greeting;
    hello.version = wire_version;
    hello.ready = channel.state_ == VerbsChannel::State::meeting ||
                          channel.state_ == VerbsChannel::State::open
                      ? 1
                      : 0;
    hello.from_port = channel.port_.port;
    hello.to_port = channel.remote_port_;
    hello.queue_pair = channel.queue_pair_->qp_num;
    hello.first_packet = channel.first_packet_;
    hello.mtu = std::uint32_t(channel.device_.mtu());
    hello.slot_bytes = std::uint32_t(channel.port_.slot_bytes);
    hello.credits = channel.all_credits();
    hello.from = address_.id;
    hello.to = channel.peer_;
    hello.proof =
        prove(options_.secret, std::as_bytes(std::span(&hello, 1)).first(offsetof(Hello, proof)));
    greeters_[channel.device_.index()]->send(channel.greets_.get(), channel.greeter_, hello);
}

// Handles a datagram that somebody sent. If it does not prove that it is of this job, and for us,
// it is ignored.
void VerbsInterface::hear(const Hello& hello) {
    if (hello.greeting != greeting || hello.version != wire_version || hello.to != address_.id)
        return;
    const auto said = std::as_bytes(std::span(&hello, 1)).first(offsetof(Hello, proof));
    if (!same(hello.proof, prove(options_.secret, said))) return;
    VerbsChannel* const channel = channel_of(hello.to_port);
    if (channel == nullptr) {
        if (!has_port(hello.to_port)) return;
        if (pending_.insert_or_assign(hello.to_port, hello).second)
            knocked_.push_back(hello.to_port);
        return;
    }
    if (channel->peer_ != hello.from || channel->remote_port_ != hello.from_port) return;
    if (channel->state_ == VerbsChannel::State::waiting) {
        channel->heard_ = hello;
        try_to_reach(*channel);
        return;
    }
    if (channel->state_ != VerbsChannel::State::meeting &&
        channel->state_ != VerbsChannel::State::open)
        return;
    if (channel->heard_->queue_pair != hello.queue_pair) return;
    if (hello.ready != 0)
        channel->open();
    else
        greet(*channel);
}

// Acts upon the peer's hello and answers it. False: none has come, or the peer cannot be reached
// yet.
bool VerbsInterface::try_to_reach(VerbsChannel& channel) {
    if (!channel.heard_) return false;
    try {
        channel.check(*channel.heard_);
        if (!channel.reach(*channel.heard_)) return false;
    } catch (const std::runtime_error& error) {
        channel.fail(error.what());
        return true;
    }
    channel.hello_pause_ = first_hello_pause;
    greet(channel);
    if (channel.heard_->ready != 0) channel.open();
    return true;
}

// Says hello again, gives up cables over which no answer comes, and asks silent peers for a sign of
// life. The silence of a datagram says nothing about the other end's process, except while both
// ends are known to look for each other: when links are established. Otherwise devices and
// launchers report deaths.
void VerbsInterface::look_at_the_clock() {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(options_.timeout).count();
    const auto gap = std::min<Clock::duration>(now - last_look_at_clock_, longest_gap);
    last_look_at_clock_ = now;
    if (waiting_ != 0)
        for (const auto& it : channels_) {
            if (it->state_ >= VerbsChannel::State::open) continue;
            if (it->mutual_ && (it->waited_ += gap) >= options_.timeout)
                it->fail(fmt::format("not connected within {} s (transport.timeout){}{}", seconds,
                                     it->trouble_.empty() ? "" : ": ", it->trouble_));
            else if (now >= it->next_hello_) {
                if (it->state_ == VerbsChannel::State::meeting || !try_to_reach(*it)) greet(*it);
            }
        }
    if (now < next_signs_) return;
    next_signs_ = now + options_.timeout / 3;
    for (const auto& it : channels_)
        if (!std::exchange(it->heard_something_, false)) it->ask_for_life();
}

}  // namespace torusmp::transport::verbs

// SPDX-License-Identifier: BSD-3-Clause
// How a VerbsInterface establishes connections: hellos in datagrams.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "core/transport/verbs/interface.h"

namespace torusmp::transport::verbs {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_hello_pause(10);
constexpr milliseconds longest_hello_pause(250);

// The addresses that two ends use: over their common cable or, if there is none, routed addresses.
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
    const bool spared = options.mutual && options_.spares_links;
    if (theirs.device.empty())
        throw std::runtime_error(fmt::format("verbs: {} has no port {} on an RDMA device",
                                             peer.host, options.remote_port));
    const auto pair = pair_for(own, theirs, options.mutual);
    if (!pair && !spared)
        throw std::runtime_error(
            fmt::format("verbs: {} and {} share no network: expected RoCE v2 GIDs of one network "
                        "at both ends of a cable, or IPv6 link-local ones",
                        describe(own, options_.host), describe(theirs, peer.host)));
    const auto before = std::find_if(channels_.begin(), channels_.end(), [&](const auto& it) {
        return it->port_.port == options.local_port;
    });
    const bool again = before != channels_.end();
    const auto index = again ? (*before)->index_ : std::uint32_t(channels_.size());
    auto made =
        std::make_unique<VerbsChannel>(*this, index, device, port_options(options.local_port));
    VerbsChannel& channel = *made;
    channel.name_ = pair ? describe(device, *pair, theirs, peer.host)
                         : fmt::format("{} to {}", device.text(), describe(theirs, peer.host));
    channel.peer_ = peer.id;
    channel.remote_port_ = options.remote_port;
    channel.theirs_ = theirs;
    channel.pair_ = pair;
    channel.mutual_ = options.mutual;
    channel.hello_pause_ = first_hello_pause;
    if (again) {
        channel.follow(**before, options);
        // It keeps its place, since core may be called from a loop over all channels.
        replaced_.push_back(std::exchange(*before, std::move(made)));
    } else {
        channel.make_room();
        channel.begin();
        posting_.push_back(&channel);
        channels_.push_back(std::move(made));
        ++waiting_;
    }
    if (const auto pending = pending_.find(options.local_port); pending != pending_.end()) {
        if (pending->second.serial > channel.outdated_) {
            channel.heard_ = pending->second;
            channel.patience_.not_before = {};  // the other end wants the cable now
        }
        pending_.erase(pending);
    }
    next_look_at_clock_ = {};
    impatient_ = true;
    if (again) return channel;  // it sends a hello when it has a queue pair
    if (!try_to_reach(channel)) greet(channel);
    // The start of the job does not wait for a cable that is known to be dead.
    if (spared && !device.trouble().empty()) channel.patience_.give_up_at = Clock::now();
    return channel;
}

// Finds the path to the peer's datagram queue pair, as far as it is known now. Returns false if
// there is none; trouble_ has the reason.
bool VerbsInterface::find_way(VerbsChannel& channel) {
    Device& device = channel.device_;
    const bool spared = channel.mutual_ && options_.spares_links;
    if (channel.greets_ && !spared) return true;
    if (spared) {
        channel.trouble_ = device.trouble();
        if (!channel.trouble_.empty()) return false;
        if (!channel.pair_) {  // addresses of ours may have appeared since
            Endpoint own = address_.endpoint(channel.port_.port);
            own.addresses = addresses_kept_by(own.device);
            channel.pair_ = choose_pair(own, channel.theirs_);
        }
        if (!channel.pair_) {
            channel.trouble_ = "its ends share no network";
            return false;
        }
    }
    const auto gid = device.gid_of(channel.pair_->own);
    if (!gid) {
        channel.trouble_ =
            fmt::format("{} is no longer one of its GIDs", channel.pair_->own.text());
        return false;
    }
    if (channel.greets_ && channel.path_.grh.sgid_index == *gid) return true;
    channel.path_ = {};
    channel.path_.is_global = 1;
    channel.path_.port_num = device.port();
    channel.path_.grh.dgid = gid_from(channel.pair_->peer);
    channel.path_.grh.sgid_index = *gid;
    channel.path_.grh.hop_limit = 64;
    const auto begun = Clock::now();
    channel.greets_.reset(ibv_create_ah(device.domain(), &channel.path_));
    if (channel.greets_) return true;
    channel.trouble_ = fmt::format("its address does not resolve: {}", std::strerror(errno));
    // The kernel may take a second to look for the peer, during which this process does nothing
    // else.
    const auto now = Clock::now();
    if (spared) channel.next_hello_ = std::max(channel.next_hello_, now + 20 * (now - begun));
    return false;
}

// Sends the peer's device the number of our queue pair, and whether it can receive.
void VerbsInterface::greet(VerbsChannel& channel) {
    channel.next_hello_ = Clock::now() + channel.hello_pause_;
    channel.hello_pause_ = std::min(2 * channel.hello_pause_, longest_hello_pause);
    if (!find_way(channel)) return;
    Hello hello{};
    hello.greeting = greeting;
    hello.version = wire_version;
    hello.ready = channel.bound_ != 0 ? 1 : 0;
    hello.from_port = channel.port_.port;
    hello.to_port = channel.remote_port_;
    hello.serial = channel.serial_;
    hello.heard = channel.heard_ ? channel.heard_->serial : 0;
    hello.queue_pair = channel.queue_pair_->qp_num;
    hello.first_packet = channel.first_packet_;
    hello.mtu = std::uint32_t(channel.device_.mtu());
    hello.slot_bytes = std::uint32_t(channel.port_.slot_bytes);
    hello.credits = channel.all_credits();
    hello.from = address_.id;
    hello.to = channel.peer_;
    hello.proof =
        prove(options_.secret, std::as_bytes(std::span(&hello, 1)).first(offsetof(Hello, proof)));
    greeters_[channel.device_.index()]->send(channel.greets_.get(), channel.theirs_.listens_on,
                                             hello);
}

// Handles a datagram from any sender. It is ignored unless it proves that it belongs to this job
// and is for this rank.
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
    // It is from a queue pair that is gone, and was long on the way.
    if (hello.serial <= channel->outdated_ ||
        (channel->heard_ && hello.serial < channel->heard_->serial))
        return;
    switch (channel->state_) {
        case VerbsChannel::State::waiting:
            channel->heard_ = hello;
            channel->hello_pause_ = first_hello_pause;
            // The end that wants the cable earlier ends the other's pause.
            channel->patience_.not_before = {};
            if (begin_again(*channel)) try_to_reach(*channel);
            return;
        case VerbsChannel::State::meeting:
        case VerbsChannel::State::open:
            if (hello.serial == channel->bound_) {
                if (hello.heard == channel->serial_ && hello.ready != 0)
                    channel->open();
                else
                    greet(*channel);
                return;
            }
            // That end has seen the cable die, and waits for this one.
            pending_.insert_or_assign(hello.to_port, hello);
            channel->patience_.met = true;
            return channel->fail("its other end lost the connection and reconnects");
        case VerbsChannel::State::down:
            pending_.insert_or_assign(hello.to_port, hello);
            return;
        case VerbsChannel::State::finished:
            return;
    }
}

// Handles the peer's hello and answers it. Returns false if none has arrived, or the peer cannot be
// reached yet.
bool VerbsInterface::try_to_reach(VerbsChannel& channel) {
    if (!channel.heard_) return false;
    try {
        channel.check(*channel.heard_);
        // Only to a queue pair that knows ours: an earlier one of the peer may be gone by now.
        if (channel.heard_->heard == channel.serial_ && !channel.reach(*channel.heard_))
            return false;
    } catch (const std::runtime_error& error) {
        channel.fail(error.what());
        return true;
    }
    greet(channel);
    if (channel.state_ == VerbsChannel::State::meeting && channel.heard_->ready != 0)
        channel.open();
    return true;
}

}  // namespace torusmp::transport::verbs

// SPDX-License-Identifier: BSD-3-Clause
// Links whose cable has died, and the silence of peers. Core connects such a link again
// immediately, and the channel then waits for the cable (common/patience.h): it repeats its hello
// until the other end, which does the same, has heard it.
//
// The queue pair is made when the device has returned everything that the former one posted: so
// memory and completion queues need no more room than before, and no completion is mistaken for
// another's.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/transport/verbs/interface.h"

namespace torusmp::transport::verbs {
namespace {

using std::chrono::milliseconds;

// A longer time between reads of the clock means that this process was busy; only this much of it
// counts as waiting.
constexpr milliseconds longest_gap(100);
// From one check to the next while a peer's answer is due.
constexpr milliseconds close_look(50);
constexpr milliseconds shortest_pause(10);  // between hellos
// A device whose peer is silent for this part of the timeout is asked for a sign of life.
constexpr int silent_part = 4;

}  // namespace

void VerbsChannel::follow(VerbsChannel& before, const ChannelOptions& options) {
    before.close("it is connected again");
    before.closed_by_core();
    patience_.follow(before.patience_, options, interface_.options_.timeout);
    serial_ = before.serial_ + 1;
    outdated_ = std::max(before.outdated_, before.bound_);
    if (before.heard_ && before.heard_->serial > outdated_) heard_ = before.heard_;
    statistics_ = before.statistics_;
    // The kernel may need long to resolve the peer again if it does not answer.
    path_ = before.path_;
    greets_ = std::move(before.greets_);
}

// Requests sent without a signal are reported only when a later one has completed.
bool VerbsChannel::returned() {
    if (posted_ != retired_ && !recalled_ && room() != 0) {
        recalled_ = true;
        post_write(0, 0, nullptr, 0, 0, Out{}, true);
        hand_over();
    }
    return receiving_ == 0 && staged_count_ == 0 && posted_ == retired_;
}

// Makes the queue pair, if that is now possible.
bool VerbsInterface::begin_again(VerbsChannel& channel) {
    if (channel.queue_pair_) return true;
    if (channel.patience_.again && Clock::now() < channel.patience_.not_before) return false;
    const auto blocks = [&](const auto& it) { return it->index_ == channel.index_; };
    if (std::any_of(replaced_.begin(), replaced_.end(), blocks) ||
        !slots_.has(channel.device_, channel.receives()))
        return false;
    try {
        channel.begin();
    } catch (const std::runtime_error& error) {
        channel.trouble_ = error.what();
        return false;
    }
    posting_[channel.index_] = &channel;
    return true;
}

// Destroys replaced channels that the device has returned completely; nothing refers to them.
void VerbsInterface::bury() {
    for (std::size_t i = 0; i < replaced_.size();) {
        VerbsChannel* const it = replaced_[i].get();
        if (!it->returned()) {
            ++i;
            continue;
        }
        std::erase_if(transfers_, [&](const Finished& one) { return one.channel == it; });
        std::erase_if(broken_, [&](const auto& one) { return one.first == it; });
        std::erase(fallen_, it);
        std::erase(dirty_, it);
        VerbsChannel* const next = channel_of(it->port_.port);
        replaced_.erase(replaced_.begin() + std::ptrdiff_t(i));
        if (next->state_ == VerbsChannel::State::waiting && begin_again(*next) &&
            !try_to_reach(*next))
            greet(*next);
    }
}

// ---- events of devices ----

void VerbsInterface::read_monitor() {
    const bool usable = monitor_.read([this](unsigned device, std::string_view what) {
        for (const auto& it : channels_) {
            if (it->device_.netdev_index() != device) continue;
            std::string why = fmt::format("its device {} {}", it->device_.netdev(), what);
            if (it->patience_.again && it->connecting())
                it->trouble_ = std::move(why);
            else
                it->fail(std::move(why));
        }
    });
    if (usable) call_again();
}

void VerbsInterface::read_trouble(Device& device) {
    const bool usable = device.read_trouble([&](const ibv_qp* pair, std::string_view what) {
        for (const auto& it : channels_) {
            if (pair != nullptr ? it->queue_pair_.get() != pair : &it->device_ != &device) continue;
            if (pair == nullptr && it->patience_.again && it->connecting())
                it->trouble_ = what;
            else
                it->fail(std::string(what));
        }
    });
    if (usable) call_again();
}

// A cable may have returned.
void VerbsInterface::call_again() {
    for (const auto& it : channels_)
        if (it->connecting()) {
            it->hello_pause_ = shortest_pause;
            it->next_hello_ = {};
        }
    next_look_at_clock_ = {};
    thorough_ = true;
}

// ---- time ----

// Repeats hellos, gives up cables without an answer, and asks silent peers for a sign of life. The
// silence of datagrams shows nothing about the other end's process, except while both ends are
// known to be polling: when links are established. Otherwise devices and launchers report deaths.
void VerbsInterface::look_at_the_clock() {
    const auto now = Clock::now();
    const auto awake = now - last_look_at_clock_ - slept_;
    attended_ += std::exchange(slept_, {}) + std::min<Clock::duration>(awake, longest_gap);
    last_look_at_clock_ = now;
    if (now < next_look_at_clock_ && waiting_ == 0) return;
    const auto gap = std::exchange(attended_, {});
    const Clock::duration apart = std::min<Clock::duration>(close_look, options_.timeout / 8);
    next_look_at_clock_ = now + options_.timeout / silent_part;
    impatient_ = false;
    for (const auto& it : channels_) {
        if (it->state_ < VerbsChannel::State::open)
            await_peer(*it, now, gap);
        else if (it->state_ == VerbsChannel::State::open &&
                 it->follow_silence(gap, options_.timeout))
            next_look_at_clock_ = std::min(next_look_at_clock_, now + apart);
    }
}

void VerbsInterface::await_peer(VerbsChannel& channel, Clock::time_point now, Clock::duration gap) {
    if (!channel.patience_.again && channel.mutual_) channel.waited_ += gap;
    if (channel.waited_ >= options_.timeout)
        return channel.fail(fmt::format("not connected within {} s (transport.timeout){}{}",
                                        std::chrono::duration<double>(options_.timeout).count(),
                                        channel.trouble_.empty() ? "" : ": ", channel.trouble_));
    Patience& patience = channel.patience_;
    if (now >= channel.next_hello_) {
        // There is a cable if the other kernel answers; its process may take any time.
        if (patience.again && patience.give_up_at != Clock::time_point::max() && channel.pair_ &&
            channel.knock_.answered(*channel.pair_, channel.device_.netdev()))
            patience.give_up_at = now + options_.timeout;
        if (begin_again(channel) &&
            (channel.state_ == VerbsChannel::State::meeting || !try_to_reach(channel)))
            greet(channel);
    }
    if (now >= patience.give_up_at)
        return channel.fail("the cable is missing or dead: " +
                            (channel.trouble_.empty() ? "no answer" : channel.trouble_));
    impatient_ = true;
    next_look_at_clock_ =
        std::min({next_look_at_clock_,
                  std::max({channel.next_hello_, patience.not_before, now + shortest_pause}),
                  patience.give_up_at});
}

// Whether the peer's device owes an answer. Any frame is an answer, and so is any request that it
// has acknowledged.
bool VerbsChannel::follow_silence(std::chrono::nanoseconds gap, std::chrono::nanoseconds timeout) {
    // A frame may have arrived just after the last check.
    silence_ = std::exchange(heard_something_, false)
                   ? std::min<std::chrono::nanoseconds>(gap, timeout / silent_part)
                   : silence_ + gap;
    if (silence_ < timeout / silent_part) return false;
    if (silence_ >= timeout && posted_ != retired_) {
        fail("the peer's device no longer answers: its host is down, or the cable is out");
        return false;
    }
    ask_for_life();
    return true;
}

}  // namespace torusmp::transport::verbs

// SPDX-License-Identifier: BSD-3-Clause
// Links whose cable has died. Core connects them again immediately, and the channel then waits for
// the cable (patience.h): both ends repeat their calls until one of them gets through.
//
// Only the cable is judged. While the other end's kernel answers, its process may take any time.
#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/transport/tcp/attempt.h"
#include "core/transport/tcp/channel.h"
#include "core/transport/tcp/interface.h"
#include "core/transport/tcp/sockets.h"

namespace torusmp::transport::tcp {
namespace {

// The interval between calls: the kernel's own retries would become ever less frequent.
constexpr std::chrono::milliseconds between_calls(250);

// While a link comes up for the first time, one end calls. The other end calls too when it has
// waited for this part of the timeout: only then does its own kernel report that the cable is dead.
// The calling end's news may have no other cable to travel on.
constexpr int part_of_timeout = 4;

}  // namespace

// Calls, if that is now possible; if not, a link that is connected for the first time is given up
// at the next poll. A cable that has died often is tried when its pause is over, unless the other
// end calls before.
void TcpInterface::await_cable(TcpChannel& channel, Clock::time_point now) {
    channel.state_ = TcpChannel::State::waiting;
    const bool is_called = !channel.patience_.again && address_.id < channel.peer_;
    const bool has_waited = now >= channel.call_at_;
    if (now < channel.patience_.not_before) {
        channel.trouble_ = "it has died too often";
        channel.call_at_ = channel.patience_.not_before;
        return alarm_.set(channel.call_at_);
    }
    try {
        const std::string_view trouble = trouble_of_device(channel.device_name_);
        if (!trouble.empty()) throw std::runtime_error(fmt::format("its device {}", trouble));
        if (channel.patience_.again)
            listeners_.renew(channel.port_.port, if_nametoindex(channel.device_name_.c_str()));
        if (!is_called || has_waited) call(channel);
    } catch (const std::runtime_error& error) {
        channel.trouble_ = error.what();
        if (!channel.patience_.again) channel.patience_.give_up_at = now;
    }
    if (channel.patience_.again || is_called) channel.call_at_ = now + pause_of(channel);
    alarm_.set(std::min(channel.call_at_, channel.patience_.give_up_at));
}

std::chrono::nanoseconds TcpInterface::pause_of(const TcpChannel& channel) const {
    return channel.patience_.again ? between_calls : options_.timeout / part_of_timeout;
}

// A call has failed: the next one is made when it is due.
void TcpInterface::begin_again(TcpChannel& channel, const std::string& why) {
    drop_calls(channel);
    channel.state_ = TcpChannel::State::waiting;
    channel.trouble_ = why;
}

bool TcpInterface::has_reached_kernel(const TcpChannel& channel) const {
    return std::any_of(attempts_.begin(), attempts_.end(), [&](const auto& it) {
        return it->caller == &channel && it->stage() == Attempt::Stage::introducing;
    });
}

void TcpInterface::drop_calls(const TcpChannel& channel) {
    for (const auto& it : attempts_)
        if (it->caller == &channel) it->end();
}

// ---- time ----

// Does the work that is due.
void TcpInterface::tend(Clock::time_point now) {
    alarm_.silence();
    listeners_.resume(now);
    alarm_.set(listeners_.resume_at());
    for (const auto& it : channels_) {
        TcpChannel& channel = *it;
        if (!channel.connecting()) continue;
        channel.patience_.look(std::min(channel.call_at_, channel.patience_.give_up_at), now,
                               between_calls);
        if (now >= channel.call_at_) {
            if (has_reached_kernel(channel)) {  // so there is a cable
                channel.call_at_ = now + pause_of(channel);
                if (channel.patience_.give_up_at != Clock::time_point::max())
                    channel.patience_.give_up_at = now + options_.timeout;
            } else {
                drop_calls(channel);
                await_cable(channel, now);
            }
        }
        if (now >= channel.patience_.give_up_at)
            channel.fail("the cable is missing or dead: " +
                         (!channel.stranger_.empty()  ? channel.stranger_
                          : !channel.trouble_.empty() ? channel.trouble_
                                                      : "no answer"));
        else
            alarm_.set(std::min(channel.call_at_, channel.patience_.give_up_at));
    }
    if (now >= next_look_for_silence_) {
        next_look_for_silence_ = now + options_.timeout / 3;
        for (const auto& it : channels_)
            if (it->state_ == TcpChannel::State::open)
                next_look_for_silence_ =
                    std::min(next_look_for_silence_, it->look_for_silence(now, options_.timeout));
    }
    alarm_.set(next_look_for_silence_);
}

// ---- replaced channels ----

// Destroys replaced channels; nothing refers to them.
void TcpInterface::bury() {
    const auto is_replaced = [&](const NetworkChannel* channel) {
        return std::any_of(replaced_.begin(), replaced_.end(),
                           [&](const auto& it) { return it.get() == channel; });
    };
    std::erase_if(transfers_, [&](const Finished& it) { return is_replaced(it.channel); });
    std::erase_if(fallen_, is_replaced);
    std::erase_if(dirty_, is_replaced);
    std::erase_if(attempts_, [&](const auto& it) { return is_replaced(it->caller); });
    forget_events();
    if (is_replaced(hot_)) hot_ = nullptr;
    replaced_.clear();
}

}  // namespace torusmp::transport::tcp

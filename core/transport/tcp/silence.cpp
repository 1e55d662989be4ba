// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/tcp/silence.h"

#include <algorithm>

namespace torusmp::transport::tcp {
namespace {

constexpr std::chrono::milliseconds shortest_look(10);  // from one look to the next

}  // namespace

SilenceWatch::Finding SilenceWatch::look(const tcp_info& info, Clock::time_point now,
                                         const Rules& rules) {
    const auto limit = rules.limit;
    const auto soon = now + limit / 8;
    const std::chrono::nanoseconds silence = std::chrono::milliseconds(info.tcpi_last_ack_recv);
    bool ask = false;
    if (info.tcpi_unacked == 0 && info.tcpi_probes == 0) {
        unacknowledged_since_ = {};
        const auto idle = limit / 3;
        if (silence < idle) return {.next = now + (idle - silence)};
        if (rules.blocked) return {.next = soon};
        ask = true;
    }
    if (unacknowledged_since_ == Clock::time_point{} || now - silence > unacknowledged_since_)
        unacknowledged_since_ = now;
    // After a long pause the silence is already old when the first packet is lost.
    const auto asked_for = now - unacknowledged_since_;
    // Data was sent again, or the peer was asked whether it has room; a single one of these may
    // have been lost. A connection whose loss can be repaired may be given up early. One whose loss
    // ends the job is dead only if it was asked in vain after a silence of this length: the kernel
    // doubles its wait each time before it sends again, so most of a silence may pass without a
    // question.
    const std::chrono::nanoseconds since_asked =
        std::chrono::milliseconds(info.tcpi_last_data_sent);
    const bool late = asked_for - since_asked >= limit && since_asked >= limit / 8;
    const bool dead = rules.made_good ? (info.tcpi_retransmits != 0 || info.tcpi_probes > 1) &&
                                            silence >= limit && asked_for >= limit / 3
                                      : (info.tcpi_retransmits != 0 && late) ||
                                            (info.tcpi_probes > 1 && asked_for >= 2 * limit);
    if (dead) return {.next = soon, .ask = ask, .dead = true};
    const auto least = rules.made_good ? limit / 3 : limit;
    const auto due = now + std::max(limit - silence, least - asked_for);
    return {.next = std::clamp(due, now + shortest_look, std::max(soon, now + shortest_look)),
            .ask = ask};
}

}  // namespace torusmp::transport::tcp

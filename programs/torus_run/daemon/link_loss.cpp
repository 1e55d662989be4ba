// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/link_loss.h"

#include <fmt/format.h>

#include <utility>

namespace torusmp::torus_run {
namespace {

// Packets per window; a window also ends when a loss is reported, because a cable may degrade
// later.
constexpr std::int64_t packets_of_a_window = 4000;

}  // namespace

std::map<std::string, std::string> LinkLoss::add(const std::vector<base::TcpTraffic>& now,
                                                 const std::map<std::string, unsigned>& indices) {
    std::map<std::uint64_t, Counted> seen;
    for (const base::TcpTraffic& it : now) {
        const auto before = before_.find(it.connection);
        // Packets sent before the job do not count.
        const bool old = before == before_.end() && !sampled_;
        const Counted was = before != before_.end() ? before->second
                            : old                   ? Counted{it.packets, it.lost}
                                                    : Counted{};
        if (it.silent) {  // counted once its cable answers again
            seen[it.connection] = was;
            continue;
        }
        seen[it.connection] = {it.packets, it.lost};
        Window& window = window_[it.device];
        window.packets += std::uint32_t(it.packets - was.packets);
        window.lost += std::int32_t(it.lost - was.lost);
    }
    before_ = std::move(seen);
    sampled_ = true;
    std::map<std::string, std::string> news;
    for (const auto& [device, index] : indices) {
        Window& window = window_[index];
        const bool loses =
            window.lost >= fewest_lost && window.lost * most_packets_for_one >= window.packets;
        if (loses && reported_.insert(device).second)
            news[device] = fmt::format("{:.2g} % of the packets {} on {} are lost ({} of {})",
                                       100.0 * double(window.lost) / double(window.packets), way_,
                                       device, window.lost, window.packets);
        if (loses || window.packets >= packets_of_a_window) window = {};
    }
    return news;
}

}  // namespace torusmp::torus_run

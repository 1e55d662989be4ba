// SPDX-License-Identifier: BSD-3-Clause
#include "core/inspection.h"

#include "core/core.h"

namespace torusmp::core {

Rank Inspection::host_of(Rank rank) const {
    return core_.connections.host_of(rank);
}

std::vector<Inspection::ConnectionInfo> Inspection::connections() const {
    const Progress::Guard guard(core_.progress);
    std::vector<ConnectionInfo> all;
    for (const auto& c : core_.connections.all())
        all.push_back({c->peer, c->link, c->statistics, c->down(), c->transport()});
    return all;
}

void Inspection::for_each_unexpected(
    const std::function<void(Context, const Status&)>& visit) const {
    const Progress::Guard guard(core_.progress);
    core_.matching.for_each_unexpected(
        [&](const Unexpected& message) { visit(message.context, message.status()); });
}

std::size_t Inspection::unexpected_bytes() const {
    const Progress::Guard guard(core_.progress);
    return core_.store.bytes();
}

bool Inspection::quiet() const {
    const Progress::Guard guard(core_.progress);
    if (!core_.sender.idle()) return false;
    for (const transport::Interface* it : core_.connections.interfaces())
        if (!it->idle()) return false;
    return core_.commons.open_requests() == 0 && core_.connections.loopback().empty();
}

bool Inspection::credits_home() const {
    const Progress::Guard guard(core_.progress);
    return core_.sender.credits_home();
}

bool Inspection::on_cables() const {
    const Progress::Guard guard(core_.progress);
    return core_.links.on_cables();
}

LinkHoldings Inspection::link_holdings() const {
    const Progress::Guard guard(core_.progress);
    return core_.links.holdings();
}

ShortcutCounts Inspection::shortcuts() const {
    const Progress::Guard guard(core_.progress);
    return core_.shortcuts.counts();
}

Waits Inspection::waits() const {
    return core_.waits();
}

std::string Inspection::report() const {
    return describe(core_.waits(), [this](Rank rank) { return core_.commons.name_of(rank); });
}

std::uint64_t Inspection::faults() const {
    return core_.faults.count();
}

std::string Inspection::fault_of(Rank peer) const {
    const Progress::Guard guard(core_.progress);
    return core_.faults.why_lost(peer);
}

std::string Inspection::why_failed(Error error, Rank peer) const {
    const Progress::Guard guard(core_.progress);
    return core_.faults.why_failed(error, peer);
}

std::optional<Rank> Inspection::lost_in(std::span<const Rank> members) const {
    const Progress::Guard guard(core_.progress);
    return core_.faults.lost_in(members);
}

}  // namespace torusmp::core

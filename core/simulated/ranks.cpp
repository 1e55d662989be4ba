// SPDX-License-Identifier: BSD-3-Clause
#include "core/simulated/ranks.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>

namespace torusmp::core::simulated {

namespace {

// The link transport of a link, the same at both ends: decided by the lower rank.
int link_transport_of(int link_transports, Rank rank, Rank peer,
                      std::optional<routing::Direction> link) {
    if (!link) return 0;
    return (std::min(rank, peer) + (rank < peer ? *link : link->opposite()).index()) %
           link_transports;
}

}  // namespace

Ranks::Ranks(const Plan& plan) : world_(plan.world) {
    for (Rank rank = 0; rank < plan.torus.size(); ++rank) open(plan, rank);
}

void Ranks::open(const Plan& plan, Rank rank) {
    const auto make_with = [this, rank, most = plan.allocatable](
                               bool separate, const std::vector<transport::PortOptions>& ports) {
        auto interface = world_.create(
            {.ports = ports, .other = {}, .allocatable = most, .separate_links = separate});
        interfaces_.push_back({rank, interface.get(), ports});
        return std::unique_ptr<transport::Interface>(std::move(interface));
    };
    std::vector<Runtime::LinkTransport> link_transports;
    for (int i = 0; i < plan.link_transports; ++i)
        link_transports.push_back(
            {std::bind_front(make_with, i != 0 || !plan.joint_links),
             [=, count = plan.link_transports](Rank peer, std::optional<routing::Direction> link) {
                 return link_transport_of(count, rank, peer, link) == i;
             }});
    runtimes_.push_back(std::make_unique<Runtime>(
        plan.options(rank), std::bind_front(make_with, true), std::move(link_transports)));
}

std::vector<std::vector<std::byte>> Ranks::addresses() const {
    std::vector<std::vector<std::byte>> all;
    for (const auto& runtime : runtimes_) all.push_back(runtime->address());
    return all;
}

void Ranks::connect(const std::vector<std::vector<std::byte>>& addresses) {
    for (auto& runtime : runtimes_) runtime->connect(addresses);
}

sim::Interface& Ranks::interface(Rank rank, std::uint32_t port) {
    for (const Opened& it : interfaces_)
        if (it.rank == rank && std::any_of(it.ports.begin(), it.ports.end(),
                                           [&](const auto& own) { return own.port == port; }))
            return *it.interface;
    throw std::invalid_argument(fmt::format("rank {} has no port {}", rank, port));
}

}  // namespace torusmp::core::simulated

// SPDX-License-Identifier: BSD-3-Clause
#include "job/wiring.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/geometry.h"
#include "core/transport/list.h"
#include "core/transport/machine.h"
#include "routing/pair_path.h"

namespace torusmp::job {
namespace {

using config::CableEnd;
using config::ConfigError;
using config::HostFacts;
using config::Settings;
using routing::Direction;
using routing::Rank;
using transport::LinkChoice;
using transport::Placement;

const HostFacts* facts_of(const std::vector<std::optional<HostFacts>>& facts, int node) {
    const auto& it = facts[std::size_t(node)];
    return it ? &*it : nullptr;
}

// Whether this is the first rank of its node, which sends the facts of the node.
bool speaks(const Settings& settings, Rank rank) {
    const int node = node_of(settings, rank);
    for (Rank before = 0; before < rank; ++before)
        if (node_of(settings, before) == node) return false;
    return true;
}

}  // namespace

std::vector<transport::PortDevice> link_devices(const Settings& settings,
                                                const core::Options& options) {
    std::vector<transport::PortDevice> devices;
    if (settings[config::setting::dims].empty()) return devices;
    const int node = node_of(settings, options.rank);
    for (int i = 0; i < 2 * options.torus.link_dimensions(); ++i) {
        const auto direction = Direction::from_index(i);
        const auto neighbour = options.torus.neighbour(options.rank, direction);
        if (!neighbour || node_of(settings, *neighbour) == node) continue;
        const std::string device = config::link_device(settings, node, direction);
        if (!device.empty()) devices.push_back({std::uint32_t(i), device});
    }
    return devices;
}

Wiring::Wiring(const Settings& settings, launch::Bootstrap& bootstrap, const core::Options& options)
    : far_(std::size_t(options.torus.size()), &transport::fallback_transport()),
      link_devices_(link_devices(settings, options)) {
    links_.fill(&transport::fallback_transport());
    const Facts facts = exchange(settings, bootstrap);
    choose_links(settings, bootstrap, options, facts);
    if (options.far_direct || options.shortcuts != 0) choose_far(settings, options, facts);
}

// The first rank of each node sends the facts of the node.
Wiring::Facts Wiring::exchange(const Settings& settings, launch::Bootstrap& bootstrap) {
    const Rank self = bootstrap.rank();
    std::string mine;
    if (speaks(settings, self))
        mine = config::format_facts(transport::facts_of_links(settings, node_of(settings, self)));
    const auto offers = bootstrap.exchange(std::as_bytes(std::span(mine)));
    Facts facts(std::size_t(node_torus(settings)->size()));
    for (std::size_t rank = 0; rank < offers.size(); ++rank) {
        if (offers[rank].empty()) continue;
        const int node = node_of(settings, Rank(rank));
        try {
            facts[std::size_t(node)] = transport::parse_facts(
                {reinterpret_cast<const char*>(offers[rank].data()), offers[rank].size()});
        } catch (const ConfigError& error) {
            throw ConfigError(
                fmt::format("cannot parse the links described by rank {}: {}", rank, error.what()));
        }
    }
    return facts;
}

void Wiring::choose_links(const Settings& settings, const launch::Bootstrap& bootstrap,
                          const core::Options& options, const Facts& facts) {
    const int node = node_of(settings, options.rank);
    const auto& local = bootstrap.local_ranks();
    const bool speaker = speaks(settings, options.rank);
    for (int i = 0; i < 2 * options.torus.link_dimensions(); ++i) {
        const auto direction = Direction::from_index(i);
        const auto neighbour = options.torus.neighbour(options.rank, direction);
        if (!neighbour || node_of(settings, *neighbour) == node) continue;
        const int other = node_of(settings, *neighbour);
        // The offers of a device with a dead cable do not count against the requested transport.
        const bool unknown =
            transport::wanted_transport(settings) != nullptr &&
            std::count(options.dead_links.begin(), options.dead_links.end(),
                       routing::link_by(options.torus, options.rank, direction)) != 0;
        const LinkChoice choice = transport::choose_link(
            settings, CableEnd{node, direction, unknown ? nullptr : facts_of(facts, node)},
            CableEnd{other, direction.opposite(), unknown ? nullptr : facts_of(facts, other)},
            {.one_host = std::find(local.begin(), local.end(), *neighbour) != local.end(),
             .shares_cores = options.shares_cores});
        if (speaker && node < other && !choice.warning.empty() && options.log)
            options.log(choice.warning);
        links_[std::size_t(i)] = choice.carrier;
    }
}

// Connections to ranks without a link to this one, forwarded by the kernels of the nodes between.
void Wiring::choose_far(const Settings& settings, const core::Options& options,
                        const Facts& facts) {
    const auto nodes = *node_torus(settings);
    const int node = node_of(settings, options.rank);
    for (Rank rank = 0; rank < options.torus.size(); ++rank) {
        const int other = node_of(settings, rank);
        if (other == node || options.torus.distance(options.rank, rank) <= 1) continue;
        const Direction out = routing::pair_direction(nodes, node, other);
        const Direction in = routing::pair_direction(nodes, other, node);
        const transport::Descriptor* const carrier = choose_far_carrier(
            settings, CableEnd{node, out, facts_of(facts, node)},
            CableEnd{other, in, facts_of(facts, other)}, {.shares_cores = options.shares_cores});
        far_[std::size_t(rank)] = carrier;
        if (carrier != nullptr && carrier->needs_devices)
            far_devices_.push_back({core::direct_port_base + std::uint32_t(rank),
                                    config::link_device(settings, node, out),
                                    nodes.coordinates(other)});
    }
}

// With forward = "kernel" a missing carrier is an error; with "auto", connections beyond the links
// are used if possible.
const transport::Descriptor* Wiring::choose_far_carrier(const Settings& settings,
                                                        const CableEnd& one, const CableEnd& other,
                                                        const Placement& placement) {
    if (settings[config::setting::forward] == config::Forward::kernel)
        return transport::choose_forwarded(settings, one, other, placement).carrier;
    try {
        const auto* const carrier =
            transport::choose_forwarded(settings, one, other, placement).carrier;
        return carrier->capabilities.renews ? carrier : nullptr;
    } catch (const ConfigError&) {
        const auto* const wanted = transport::wanted_transport(settings);
        return wanted->capabilities.renews ? &transport::fallback_transport() : nullptr;
    }
}

std::vector<transport::PortDevice> Wiring::devices(const transport::Descriptor& transport) const {
    auto all = link_devices_;
    if (transport.needs_devices) all.insert(all.end(), far_devices_.begin(), far_devices_.end());
    return all;
}

}  // namespace torusmp::job

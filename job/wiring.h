// SPDX-License-Identifier: BSD-3-Clause
// The transport from this rank to other nodes: for each link, and for the connection to each rank
// beyond the links, if kernels forward.
//
// Created once while a Process comes up, collectively: each node sends the offers of its links to
// all others, so that both ends of a link reach the same result by the same rule
// (core/transport/choice.h). A plain value afterwards, which any thread may read.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "core/api.h"
#include "core/transport/choice.h"
#include "launch/bootstrap.h"

namespace torusmp::job {

// The network devices of the links that leave this rank's node; none without a torus.
std::vector<transport::PortDevice> link_devices(const config::Settings& settings,
                                                const core::Options& options);

class Wiring {
  public:
    // Collective. Precondition: the settings have a torus. Throws ConfigError if they require a
    // transport that a link cannot use; options.log receives hints on possible improvements.
    Wiring(const config::Settings& settings, launch::Bootstrap& bootstrap,
           const core::Options& options);

    // The transport of that link of this rank or, without a link, of the connection to a rank
    // further away; null if none.
    const transport::Descriptor* carrier(routing::Rank peer,
                                         std::optional<routing::Direction> link) const {
        return link ? links_[std::size_t(link->index())] : far_[std::size_t(peer)];
    }
    // The network devices behind the ports that a transport is given.
    std::vector<transport::PortDevice> devices(const transport::Descriptor& transport) const;

  private:
    using Facts = std::vector<std::optional<config::HostFacts>>;  // by node; empty if the node is
                                                                  // gone

    static Facts exchange(const config::Settings& settings, launch::Bootstrap& bootstrap);
    void choose_links(const config::Settings& settings, const launch::Bootstrap& bootstrap,
                      const core::Options& options, const Facts& facts);
    void choose_far(const config::Settings& settings, const core::Options& options,
                    const Facts& facts);
    static const transport::Descriptor* choose_far_carrier(const config::Settings& settings,
                                                           const config::CableEnd& one,
                                                           const config::CableEnd& other,
                                                           const transport::Placement& placement);

    std::array<const transport::Descriptor*, 2 * routing::max_dimensions> links_{};
    std::vector<const transport::Descriptor*> far_;  // by rank; null if reached by relay only
    std::vector<transport::PortDevice> link_devices_;
    // The devices of connections to ranks further away, if their transport needs one.
    std::vector<transport::PortDevice> far_devices_;
};

}  // namespace torusmp::job

// Which transport carries what this rank sends to other nodes: verbs where both ends of a link have
// RDMA, otherwise TCP.
//
// Made once while a Process comes up, collectively: each node tells all others what RDMA its links
// have, so that both ends of a link reach the same answer by the same rule (config/choice.h). A
// plain value afterwards, which any thread may read.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "config/choice.h"
#include "config/settings.h"
#include "core/api.h"
#include "launch/bootstrap.h"

namespace torusmp::job {

class Wiring {
  public:
    struct Device {
        std::uint32_t port;  // of the Runtime
        std::string name;
    };

    // Collective. Precondition: the settings have a torus. Throws ConfigError if they ask for a
    // transport that a link cannot have; options.log is told what could be better.
    Wiring(const config::Settings& settings, launch::Bootstrap& bootstrap,
           const core::Options& options);

    // Whether verbs carry that link of this rank or, without one, the connection to a rank further
    // away, to which the network forwards.
    bool by_verbs(routing::Rank peer, std::optional<routing::Direction> link) const {
        return link ? links_[std::size_t(link->index())] : far_[std::size_t(peer)];
    }
    // The network devices of all ports that verbs carry.
    const std::vector<Device>& devices() const { return devices_; }

  private:
    using Facts = std::vector<std::optional<config::HostFacts>>;  // by node; nothing: it is gone

    static Facts exchange(const config::Settings& settings, launch::Bootstrap& bootstrap);
    void choose_links(const config::Settings& settings, const launch::Bootstrap& bootstrap,
                      const core::Options& options, const Facts& facts);
    void choose_far(const config::Settings& settings, const core::Options& options,
                    const Facts& facts);

    std::array<bool, 2 * routing::max_dimensions> links_{};
    std::vector<bool> far_;  // by rank; all false where the runtime relays
    std::vector<Device> devices_;
};

}  // namespace torusmp::job

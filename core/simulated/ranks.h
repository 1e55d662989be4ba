// SPDX-License-Identifier: BSD-3-Clause
// All ranks of a job in one process: a Runtime for each over one simulated World. The caller
// decides which rank runs when.
//
// Requests and buffers of the callers must outlive the Ranks.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "core/api.h"
#include "core/transport/sim/world.h"

namespace torusmp::core::simulated {

namespace sim = transport::sim;

struct Plan {
    routing::Torus torus;
    sim::WorldOptions world{};
    std::function<Options(Rank)> options;
    // Number of further interfaces, which share the links; 0 if the first serves all.
    int link_transports = 0;
    // The first of these has no separate links.
    bool joint_links = false;
    std::size_t allocatable = std::size_t(-1);  // bytes of memory to share, on each rank
};

class Ranks {
  public:
    explicit Ranks(const Plan& plan);

    sim::World& world() { return world_; }
    const sim::World& world() const { return world_; }
    int size() const { return int(runtimes_.size()); }
    Runtime& operator[](Rank rank) { return *runtimes_[std::size_t(rank)]; }
    const Runtime& operator[](Rank rank) const { return *runtimes_[std::size_t(rank)]; }

    // The argument of connect(), by rank.
    std::vector<std::vector<std::byte>> addresses() const;
    void connect(const std::vector<std::vector<std::byte>>& addresses);

    // The rank that owns that interface, by sim::Interface::index().
    Rank owner(std::size_t interface) const { return interfaces_[interface].rank; }
    // The interface of the rank that has that port.
    sim::Interface& interface(Rank rank, std::uint32_t port);
    template <class Do>
    void each_interface(Rank rank, Do&& act) {
        for (const Opened& it : interfaces_)
            if (it.rank == rank) act(*it.interface);
    }

  private:
    void open(const Plan& plan, Rank rank);

    struct Opened {
        Rank rank;
        sim::Interface* interface;
        std::vector<transport::PortOptions> ports;
    };

    sim::World world_;
    std::vector<Opened> interfaces_;  // in the order of sim::Interface::index()
    std::vector<std::unique_ptr<Runtime>> runtimes_;
};

}  // namespace torusmp::core::simulated

// SPDX-License-Identifier: BSD-3-Clause
// The faults of a round of the fault soak: failures, hostile packets, and the pairs of ranks that
// are cut off from each other.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/packets.h"
#include "fault_soak_scene.h"

namespace torusmp::core::testing::fault_soak {

class Damage {
  public:
    struct DeadLink {
        Rank at;
        routing::Direction direction;
    };

    explicit Damage(Scene& scene);

    // One fault more, of any kind that is possible.
    void strike();
    // Each captured rank says something to one of its peers.
    void attack();
    // A captured rank that does not answer is considered dead after a while, as by a timeout.
    void end_captured();

    // Killed or captured.
    bool dead(Rank rank) const { return dead_[std::size_t(rank)]; }
    const std::vector<DeadLink>& dead_links() const { return dead_links_; }
    sim::Time last_fault() const { return last_fault_; }
    // True if two ranks can no longer communicate.
    bool cut(Rank a, Rank b) const;
    // True if messages between two ranks go to, or over, a captured rank.
    bool hostile(Rank a, Rank b) const;
    // True if a line that explains an error by a dead link names a link that is dead.
    bool explains(std::string_view line) const;

  private:
    std::optional<Rank> some_rank();
    bool kill_rank();
    bool capture_rank();
    bool connected(Rank from, Rank to);
    bool cut_link();
    bool slow_link();
    bool forge(transport::PacketHeader& header, Rank enemy, Rank at, std::uint32_t port);
    bool crosses_fault(Rank from, Rank to) const;

    Scene& scene_;
    std::vector<bool> dead_;  // killed or captured
    std::vector<bool> captured_;
    std::vector<DeadLink> dead_links_;
    std::vector<std::pair<Rank, Rank>> dead_pairs_;  // direct connections that were cut
    sim::Time last_fault_{0};
};

}  // namespace torusmp::core::testing::fault_soak

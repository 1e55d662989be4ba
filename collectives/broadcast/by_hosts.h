// The broadcast of a group that spans hosts with several members each: inside the root's host from
// the root; from that host's leader to the others; inside the other hosts.
//
// Internal to Broadcast, which lets it advance.
#pragma once

#include <optional>

#include "collectives/broadcast/broadcast.h"
#include "collectives/schedule/sequence.h"

namespace torusmp::collectives::broadcast {

class ByHosts final : public Sequence {
  public:
    ByHosts(Group& group, Hosts& hosts);
    ~ByHosts() = default;

    // algorithm: among the leaders.
    void prepare(void* buffer, std::size_t bytes, int root, const AlgorithmRow* algorithm);

  private:
    Schedule* start_part(int number) override;

    Hosts& hosts_;
    Broadcast inside_;
    std::optional<Broadcast> leaders_;
    void* buffer_ = nullptr;
    std::size_t bytes_ = 0;
    int root_ = 0;
    const AlgorithmRow* algorithm_ = nullptr;
};

}  // namespace torusmp::collectives::broadcast

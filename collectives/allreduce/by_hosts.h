// The allreduce of a group that spans hosts with several members each: inside each host to its
// leader; among the leaders; inside each host from its leader.
//
// Internal to Allreduce, which lets it advance.
#pragma once

#include <optional>

#include "collectives/allreduce/allreduce.h"
#include "collectives/broadcast/broadcast.h"
#include "collectives/reduce/reduce.h"
#include "collectives/schedule/sequence.h"

namespace torusmp::collectives::allreduce {

class ByHosts final : public Sequence {
  public:
    ByHosts(Group& group, Hosts& hosts);
    ~ByHosts() = default;

    // algorithm: among the leaders.
    void prepare(const Arguments& arguments, const AlgorithmRow* algorithm);

  private:
    Schedule* start_part(int number) override;

    Reduce to_leader_;
    Broadcast from_leader_;
    std::optional<Allreduce> leaders_;
    Arguments arguments_{};
    const AlgorithmRow* algorithm_ = nullptr;
};

}  // namespace torusmp::collectives::allreduce

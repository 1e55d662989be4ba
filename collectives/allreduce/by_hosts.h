// SPDX-License-Identifier: BSD-3-Clause
// Reduces inside each host to its leader, then among the leaders, then broadcasts inside each host.
// Internal to Allreduce.
#pragma once

#include <optional>

#include "collectives/algorithm/over_hosts.h"
#include "collectives/allreduce/allreduce.h"
#include "collectives/broadcast/broadcast.h"
#include "collectives/reduce/reduce.h"

namespace torusmp::collectives::allreduce {

class ByHosts final : public OverHosts<Arguments> {
  public:
    ByHosts(Group& group, Hosts& hosts);

  private:
    Schedule* start_part(int number) override;

    Reduce to_leader_;
    Broadcast from_leader_;
    std::optional<Allreduce> leaders_;
};

}  // namespace torusmp::collectives::allreduce

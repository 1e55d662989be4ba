// SPDX-License-Identifier: BSD-3-Clause
// Inside each host to its leader; from the leaders to the leader of the root's host; from there to
// the root. Internal to Reduce.
#pragma once

#include <optional>

#include "collectives/algorithm/over_hosts.h"
#include "collectives/reduce/reduce.h"

namespace torusmp::collectives::reduce {

class ByHosts final : public OverHosts<Arguments> {
  public:
    ByHosts(Group& group, Hosts& hosts);

  private:
    bool move() override;
    Schedule* start_part(int number) override;

    Reduce inside_;
    std::optional<Reduce> leaders_;
    Scratch sum_;  // of the host, if the result is not wanted here
};

}  // namespace torusmp::collectives::reduce

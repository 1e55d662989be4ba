// SPDX-License-Identifier: BSD-3-Clause
// From the root inside its host; from that host's leader to the other leaders; then inside the
// other hosts. Internal to Broadcast.
#pragma once

#include <optional>

#include "collectives/algorithm/over_hosts.h"
#include "collectives/broadcast/broadcast.h"

namespace torusmp::collectives::broadcast {

class ByHosts final : public OverHosts<Arguments> {
  public:
    ByHosts(Group& group, Hosts& hosts);

  private:
    Schedule* start_part(int number) override;

    Broadcast inside_;
    std::optional<Broadcast> leaders_;
};

}  // namespace torusmp::collectives::broadcast

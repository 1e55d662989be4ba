// SPDX-License-Identifier: BSD-3-Clause
// Whether hosts two cables apart reach each other by IP: the host between them must forward, which
// a firewall may forbid. Used by one thread.
#pragma once

#include <string>
#include <vector>

#include "config/netplan.h"
#include "programs/torus_setup/hosts.h"

namespace torusmp::torus_setup {

class IpCheck {
  public:
    // `plans` by node, with fixed routes. `settings` must outlive this object.
    IpCheck(const config::Settings& settings, const std::vector<config::NodePlan>& plans);

    // The calls of host_script.sh that try the connections, by node.
    std::vector<std::string> calls() const;
    // One line for each host that does not forward. `replies` are the replies to the calls, by
    // node.
    std::vector<std::string> troubles(const std::vector<Reply>& replies) const;

  private:
    struct Way {
        int over = 0, to = 0;  // nodes
        std::string address;   // of `to`
    };

    const config::Settings& settings_;
    const std::vector<config::NodePlan>& plans_;
    std::vector<std::vector<Way>> ways_;  // by node
};

}  // namespace torusmp::torus_setup

// SPDX-License-Identifier: BSD-3-Clause
// The routing daemon BIRD with the routes of a plan. Used by one thread.
#pragma once

#include <sys/types.h>

#include "config/netplan.h"

namespace torusmp::config {

// A child that runs BIRD. It ends with this process, and then removes its routes. Its control socket
// is in the folder that systemd gives to a service, or in /run.
class Bird {
  public:
    // Throws std::runtime_error if it cannot start.
    explicit Bird(const NodePlan& plan);
    Bird(const Bird&) = delete;
    Bird& operator=(const Bird&) = delete;
    ~Bird();

    // Throws std::runtime_error if the daemon has ended.
    void check();

  private:
    pid_t pid_ = -1;
};

}  // namespace torusmp::config

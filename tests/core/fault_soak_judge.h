// SPDX-License-Identifier: BSD-3-Clause
// Checks a round of the fault soak: how each request ended, the messages of the ranks, and the
// final state of the job.
#pragma once

#include <string>

#include "fault_soak_damage.h"
#include "fault_soak_scene.h"
#include "fault_soak_traffic.h"

namespace torusmp::core::testing::fault_soak {

// It reports faults to the scene.
class Judge {
  public:
    Judge(Scene& scene, const Damage& damage, Traffic& traffic)
        : scene_(scene), damage_(damage), traffic_(traffic) {}

    // When nothing moves any more.
    void all();
    // When all has settled every rank knows whom it can reach: a message between any two succeeds
    // exactly then, and fails at once otherwise.
    void exchange_afterwards();
    void what_is_left();

  private:
    void error(const Message& message, const Request& request, Rank on, bool sending);
    void receive(const Message& message);
    void wildcards();
    void log();
    bool said(Rank on, const std::string& about) const;

    Scene& scene_;
    const Damage& damage_;
    Traffic& traffic_;
};

}  // namespace torusmp::core::testing::fault_soak

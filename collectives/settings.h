// SPDX-License-Identifier: BSD-3-Clause
// The settings of collectives: the choice of algorithms, one setting for each operation's table,
// and whether members compare their calls.
#pragma once

#include "collectives/group/policy.h"
#include "config/settings.h"
#include "config/types.h"

namespace torusmp::collectives {
namespace setting {

inline const config::Setting<bool> check{
    "collectives.check", config::boolean(), false,
    "Whether ranks compare their calls before each collective, so that an error names two ranks "
    "that differ. Costs one more exchange along every line."};

// The settings of operations(), in their order.
const std::vector<const config::Setting<Choice>*>& algorithms();

inline const config::Table table = [] {
    config::Table all{algorithms().begin(), algorithms().end()};
    all.push_back(&check);
    return all;
}();

}  // namespace setting

Policy policy_of(const config::Settings& settings);

}  // namespace torusmp::collectives

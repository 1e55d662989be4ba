// SPDX-License-Identifier: BSD-3-Clause
#include "programs/reach/reach.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/text.h"
#include "config/network.h"
#include "config/options.h"
#include "launch/settings.h"
#include "programs/reach/agent_reach.h"
#include "programs/reach/torus_reach.h"

namespace torusmp::reach {

std::optional<int> own_place(const std::vector<std::string>& hosts,
                             const std::optional<std::string>& here) {
    if (!here) {
        char name[256] = {};
        (void)::gethostname(name, sizeof name - 1);
        return config::find_host(hosts, name);
    }
    const auto place = config::find_host(hosts, *here);
    if (!place)
        throw config::UsageError(
            fmt::format("--here {}: not one of the hosts", base::printable(*here)));
    return place;
}

std::unique_ptr<Reach> reach_hosts(const config::Settings& settings, Plan plan) {
    if (settings[launch::setting::through] == launch::Through::torus)
        return reach_through_torus(settings, std::move(plan));
    return reach_by_agents(settings[launch::setting::agent], std::move(plan));
}

}  // namespace torusmp::reach

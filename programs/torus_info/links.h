// SPDX-License-Identifier: BSD-3-Clause
// Which transport the links of this host would take, as far as one end can know. Plain values;
// links_of() asks the host for the devices.
#pragma once

#include <string>
#include <vector>

#include "config/network.h"
#include "config/settings.h"

namespace torusmp::config {

struct LinkReport {
    routing::Direction direction;
    std::string device;   // empty: [links] names none
    std::string to;       // the host at the far end
    std::string carrier;  // a transport; empty: none, and `why` says what is wrong
    std::string why;
    std::string advice;  // what would give it a better one; empty: nothing
};

// The links that leave a node. The far ends are not asked.
std::vector<LinkReport> links_of(const Settings& settings, int node);

std::string links_text(const std::vector<LinkReport>& links);
std::string links_json(const std::vector<LinkReport>& links);

}  // namespace torusmp::config

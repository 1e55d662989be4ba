// SPDX-License-Identifier: BSD-3-Clause
// The changes of torus-setup on one host: as text for people, and as calls of host_script.sh. Pure
// functions; any thread may call.
#pragma once

#include <string>
#include <vector>

#include "config/netplan.h"
#include "programs/torus_setup/facts.h"

namespace torusmp::torus_setup {

struct Changes {
    std::string batch;                                          // for ip -batch
    std::vector<std::string> devices;                           // of the links
    std::vector<std::pair<std::string, std::string>> settings;  // sysctl name with slashes, value
    std::vector<config::PlannedFile> files;                     // whole texts
};

// `format` is config::netplan_format(), or null if changes end with a restart. `names` is the block
// for /etc/hosts. `geometry` is the text of the geometry file, for the services of the host. Throws
// ConfigError if the block in /etc/hosts is damaged.
Changes plan_changes(const config::NodePlan& plan, const config::NetplanFormat* format,
                     const std::string& names, const std::string& geometry, const Facts& facts);

// Lines for people, indented. With `texts`, they include the text of each file.
std::string describe(const Changes& changes, bool texts);
std::string as_calls(const Changes& changes);

}  // namespace torusmp::torus_setup

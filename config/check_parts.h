// SPDX-License-Identifier: BSD-3-Clause
// The parts of config::complete(), each in a file of its own. Pure; any thread may call.
#pragma once

#include <string>
#include <string_view>

#include "config/check.h"
#include "config/settings.h"

namespace torusmp::config::check {

// Throw ConfigError.
[[noreturn]] void refuse_at(const std::string& where, const std::string& message);
[[noreturn]] void refuse(const Settings& settings, const AnySetting& setting,
                         const std::string& message);
void need_dims(const Settings& settings, const AnySetting& setting, std::string_view name,
               const std::string& advice);

// The line of a part if it is known, otherwise the line of the whole value.
std::string locate(const Locations& locations, const Origin& origin, const std::string& part);

// Checks torus.cables and adds their graph.
void complete_cables(Settings& settings, const Locations& locations);
// Checks nodes.hosts and expands their pattern.
void complete_hosts(Settings& settings, const Locations& locations);
// Checks [links] and the tables of hosts.
void check_links(const Settings& settings, const Locations& locations);

}  // namespace torusmp::config::check

// SPDX-License-Identifier: BSD-3-Clause
// Checks between settings, and values derived from them: lengths against dimensions, the expansion
// of the pattern of hosts, links against the directions of the torus.
#pragma once

#include <map>
#include <string>

#include "config/settings.h"

namespace torusmp::config {

// The locations of the parts of a value in the file, more precise than the origin of the whole
// value: the link "0+" as "links.0+", the table of a host as "links.hosts.qcd000", the fourth host
// as "nodes.hosts.3".
using Locations = std::map<std::string, std::string>;

// Throws ConfigError for the first contradiction. Fills `hosts` from the pattern.
void complete(Settings& settings, const Locations& locations = {});

}  // namespace torusmp::config

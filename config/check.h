// SPDX-License-Identifier: BSD-3-Clause
// Checks between settings, and what follows from them: lengths against dimensions, the pattern of
// hosts spelled out, links against the directions that the torus has.
#pragma once

#include <map>
#include <string>

#include "config/settings.h"

namespace torusmp::config {

// Where the parts of a value stand in the file, more precisely than the origin of the whole: the
// link "0+" as "links.0+", the table of a host as "links.hosts.qcd000", the fourth host as
// "nodes.hosts.3".
using Locations = std::map<std::string, std::string>;

// Throws ConfigError for the first contradiction. Fills `hosts` from the pattern.
void complete(Settings& settings, const Locations& locations = {});

}  // namespace torusmp::config

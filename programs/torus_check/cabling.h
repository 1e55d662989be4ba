// SPDX-License-Identifier: BSD-3-Clause
// torus-check --diff: the cables of a geometry file, the cables found now, and the changes between
// them. Pure; any thread may call.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "programs/torus_check/coordinator.h"

namespace torusmp::torus_check {

using CablingEnd = std::pair<std::string, std::string>;  // host and device
// The lower end of each cable first.
using Cabling = std::set<std::pair<CablingEnd, CablingEnd>>;

// Requires hosts and a torus; links without a device are left out.
Cabling cabling_of(const config::Settings& settings);

// Those of CableMap, with twins paired as in the file. `hosts` and `results` go together. Devices for
// which `wanted` does not hold are left out.
Cabling cabling_found(const std::vector<std::string>& hosts, const std::vector<HostResult>& results,
                      const std::function<bool(const std::string&)>& wanted,
                      const Cabling& in_file);

// A sentence for each cable that is missing or new, for each end that leads elsewhere, and for each
// cable with another device at one end on the same host.
std::vector<std::string> changes_of_cabling(Cabling before, Cabling now);

}  // namespace torusmp::torus_check

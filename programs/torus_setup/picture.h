// SPDX-License-Identifier: BSD-3-Clause
// A drawing of a machine for the terminal: a plane of hosts for each place in the other dimensions,
// or each host with its neighbours if the cables do not form a torus.
// Pure; any thread may call.
#pragma once

#include <string>
#include <vector>

#include "routing/torus.h"

namespace torusmp::torus_setup {

// `hosts` by node. ASCII, one line for each row of hosts and of cables.
std::string draw(const routing::Torus& torus, const std::vector<std::string>& hosts);

}  // namespace torusmp::torus_setup

// SPDX-License-Identifier: BSD-3-Clause
// Probes that arrive at a device, but that its kernel does not deliver. Pure; any thread may call.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "programs/torus_check/protocol.h"

namespace torusmp::torus_check {

// For each node, the devices that took part in a round and counted at least half of its probes, but
// on which none was heard. `before` and `after`: reports by node, from before and after the round.
std::vector<std::set<std::string>> blocked_devices(const std::vector<ProbeReport>& before,
                                                   const std::vector<ProbeReport>& after);

// The finding at such a device, as a sentence.
std::string describe_block(const std::string& host, const std::string& device);

// The remedy for a block by this host on this device, as a sentence.
std::string advise_firewall(const std::string& device);

}  // namespace torusmp::torus_check

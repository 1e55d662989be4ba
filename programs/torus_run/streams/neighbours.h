// SPDX-License-Identifier: BSD-3-Clause
// Which hosts are at the other ends of this host's links, when no file says so: whoever answers
// there is asked for its name, over the agent.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace torusmp::launch {

// "fe80::1%eth1" for each of `hosts` that answers on a link of this host, by its place among them.
// Waits for at most twice `patience`, for answers and for names, and no longer than it must. Throws
// AgentError if the agent cannot be started.
std::map<int, std::string> find_neighbours(const std::vector<std::string>& hosts,
                                           const std::string& agent,
                                           std::chrono::milliseconds patience);

}  // namespace torusmp::launch

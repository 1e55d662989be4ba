// SPDX-License-Identifier: BSD-3-Clause
// Finds out which hosts are at the far ends of this host's links if no file describes them: asks
// each station that answers for its host name, through the agent.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace torusmp::torus_run {

// Returns "fe80::1%eth1" for each of `hosts` that answers on a link of this host, by index in
// `hosts`. Waits for at most twice `timeout`, for answers and for names, and returns as soon as
// all are found. Throws AgentError if the agent cannot be started.
std::map<int, std::string> find_neighbours(const std::vector<std::string>& hosts,
                                           const std::string& agent,
                                           std::chrono::milliseconds timeout);

}  // namespace torusmp::torus_run

// SPDX-License-Identifier: BSD-3-Clause
// Hosts that do not accept the user's key of ssh, or whose own key is not known here.
#pragma once

#include <string>
#include <vector>

#include "programs/torus_setup/hosts.h"

namespace torusmp::torus_setup {

// The commands that let the user in, for a terminal: ssh-keygen if there is no key, and ssh-copy-id
// for each host. Empty if they would not help: a host fails for another reason, or the agent is not
// ssh. `hosts` and `replies` go together. Uses the key in $HOME/.ssh or of ssh's agent.
std::vector<std::vector<std::string>> commands_for_keys(const std::string& agent,
                                                        const std::vector<std::string>& hosts,
                                                        const std::vector<Reply>& replies);

}  // namespace torusmp::torus_setup

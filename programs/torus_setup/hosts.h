// SPDX-License-Identifier: BSD-3-Clause
// Runs host_script.sh on all hosts at the same time, as root.
//
// Used by one thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace torusmp::torus_setup {

extern const std::string_view host_script;

struct Reply {
    std::string trouble;  // why the calls did not all succeed, and what to do; empty if they did
    bool no_key = false;  // ssh has no key for the host, or does not know the key of the host
    std::vector<std::string> lines;  // "device eth1 up"
};

// Called for each host when its calls have ended.
using Ended = std::function<void(std::size_t host, const Reply& reply)>;

// Makes `calls` (lines of sh that use the functions of host_script.sh) on each host; `hosts` and
// `calls` go together. A host that has not ended after `timeout` is left with a trouble. launch.*
// of `settings` say how the hosts are reached; with launch.through = "torus", `here` names this
// host if its own name differs. Throws config::UsageError, std::runtime_error.
std::vector<Reply> run_on_hosts(const config::Settings& settings,
                                const std::optional<std::string>& here,
                                const std::vector<std::string>& hosts,
                                const std::vector<std::string>& calls,
                                std::chrono::milliseconds timeout, const Ended& ended);

// What is known about the end of an agent, as a sentence for people with the next step.
std::string advise(const std::string& host, const std::string& agent, const std::string& why);

}  // namespace torusmp::torus_setup

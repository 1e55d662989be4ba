// SPDX-License-Identifier: BSD-3-Clause
// The output of torus-check: a table for people, JSON for scripts. Pure; any thread may call.
#pragma once

#include <string>
#include <vector>

#include "programs/torus_check/verdict.h"

namespace torusmp::torus_check {

struct CheckReport {
    std::vector<std::string> hosts;     // by node
    std::vector<std::string> troubles;  // by node; empty for a host that was tested
    std::vector<std::string> messages;  // settings that do not match the hosts
    std::vector<std::string> notes;     // hints for a better configuration
    std::vector<CableResult> cables;
    std::string outlook;  // effect of cable faults on jobs, from outlook_for_jobs()

    bool good() const;
};

// "8 hosts, 24 cables: all are good"
std::string verdict_line(const CheckReport& report);
// A line for each problem, and with `all` one for each good cable; then the verdict.
std::string report_text(const CheckReport& report, bool all);
std::string report_json(const CheckReport& report);

}  // namespace torusmp::torus_check

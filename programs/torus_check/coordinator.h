// Starts a probe on every host at once through the agent, leads them through the test, and collects
// what each of them found.
//
// Owns the agents; used by one thread. A host that cannot be reached, or ends early, costs the
// others nothing: it is named with the reason.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "config/network.h"
#include "programs/torus_check/protocol.h"

namespace torusmp::check {

struct SurveyPlan {
    std::string agent;
    std::string program;                       // of the probe, as the hosts know it
    std::vector<std::string> hosts;            // by node
    std::vector<Job> jobs;                     // by node
    std::chrono::milliseconds timeout{30000};  // for hosts to be ready, and to report
    std::chrono::milliseconds wait{300};       // after the last probe
};

struct HostResult {
    std::string trouble;  // why that host has no result; empty: it has one
    config::HostFacts facts;
    ProbeReport report;
};

// What is being done, how many hosts out of how many have done it, and the names of those that keep
// the others waiting (at first none); called often.
using Progress = std::function<void(const char* what, std::size_t done, std::size_t of,
                                    const std::string& late)>;

std::vector<HostResult> question_hosts(const SurveyPlan& plan, const Progress& progress);

}  // namespace torusmp::check

// SPDX-License-Identifier: BSD-3-Clause
// Derives the fault of each cable from the observations of all hosts. Pure; any thread may call.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "programs/torus_check/coordinator.h"
#include "routing/torus.h"

namespace torusmp::torus_check {

enum class Fault {
    unknown,    // the host at one end was not tested
    missing,    // no device, device down, no carrier, or nothing arrives
    blocked,    // a firewall at one end does not let TCP in
    swapped,    // its far end was exchanged with another cable's
    crossed,    // the same, with both far ends on one host
    misplaced,  // it leads to the wrong end, and no second cable explains this
    shared,     // more than one far end answers, as over a switch or bridge
    slow,       // speed, duplex or measured rate below the machine's
    small_mtu,  // an MTU below the machine's, or large packets do not arrive
    lossy       // part of the packets is lost or damaged
};
const char* name_of(Fault fault);

struct Finding {
    Fault fault;
    std::string text;  // what was found, and what to do
};

struct LinkEnd {
    int node = 0;
    std::string host;
    std::string device;  // empty if not in [links]
    routing::Direction direction;
    std::string link;  // "0+"; empty for a cable of a graph
};

// Measurements from one end of a cable to the other; zeros if there are none.
struct Rate {
    double bytes_per_second = 0;
    std::chrono::microseconds round_trip{0};
};

struct CableResult {
    LinkEnd a, b;  // a leaves upwards, 0+ or 1+ ...
    std::vector<Finding> findings;
    Rate forth, back;  // from a to b, from b to a
};

struct Expectation {
    std::optional<int> megabits;  // empty for the most common value of the machine
    std::optional<int> mtu;       // the same
    double loss = 0.01;           // the share of probes that may be lost
};

// "n0 eth1 (0+)"
std::string describe(const LinkEnd& end);

// Every cable of the geometry file, in the order of nodes and dimensions. `results` is indexed by
// node.
std::vector<CableResult> judge(const config::Settings& settings,
                               const std::vector<HostResult>& results,
                               const Expectation& expectation);

// The effect of dead cables on jobs: detours, or which hosts are separated. Empty without dead
// cables, and if a host was not tested.
std::string outlook_for_jobs(const config::Settings& settings,
                             const std::vector<CableResult>& cables);

}  // namespace torusmp::torus_check

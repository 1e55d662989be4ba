// SPDX-License-Identifier: BSD-3-Clause
// From what every host saw to which cable is wrong, and how. Pure; any thread may call.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "programs/torus_check/coordinator.h"
#include "routing/torus.h"

namespace torusmp::check {

enum class Fault {
    unknown,    // the host at one end could not be asked
    missing,    // no device, device down, no carrier, or nothing arrives
    swapped,    // its far end was exchanged with another cable's
    crossed,    // the same, with both far ends on one host
    misplaced,  // it leads to an end where it should not, and no second cable explains it
    shared,     // more than one far end answers: a switch or bridge
    slow,       // speed, duplex or measured rate below that of the machine
    small_mtu,  // an MTU below that of the machine, or large packets do not arrive
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
    std::string device;  // empty: [links] names none
    routing::Direction direction;
};

// What was measured from one end of a cable to the other; zeros: nothing was.
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
    std::optional<int> megabits;  // nothing: the value that most links of the machine have
    std::optional<int> mtu;       // the same
    double loss = 0.01;           // the share of probes that may be lost
};

// "n0 eth1 (0+)"
std::string describe(const LinkEnd& end);

// Every cable of the geometry file, in the order of nodes and dimensions. `results`: by node.
std::vector<CableResult> judge(const config::Settings& settings,
                               const std::vector<HostResult>& results,
                               const Expectation& expectation);

// What dead cables mean for jobs: that they go around them, or which hosts these keep apart. Empty
// without dead cables, and if a host could not be asked.
std::string outlook_for_jobs(const config::Settings& settings,
                             const std::vector<CableResult>& cables);

}  // namespace torusmp::check

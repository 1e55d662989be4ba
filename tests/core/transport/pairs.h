// SPDX-License-Identifier: BSD-3-Clause
// Two interfaces of one transport in one process, for tests that every transport must pass: those
// of the simulation, and all in the list of transports, so a new transport is tested as soon as it
// is in that list.
//
// Transports that need devices are tested by themselves, where TORUSMP_TEST_DEVICES names the two
// network devices at the ends of a cable, as "d0p d0m"; TORUSMP_TEST_NAMESPACES the network
// namespaces in which they are, as paths, if not in the namespace of this process; and
// TORUSMP_TEST_TRANSPORT the transport to test, if not all.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/transport/api/interface.h"

namespace torusmp::transport::testing {

using Ports = std::vector<PortOptions>;

class Pair {
  public:
    virtual ~Pair() = default;
    virtual Interface& a() = 0;
    virtual Interface& b() = 0;
    // Lets what is under way arrive.
    virtual void pass_time() {}
};

struct PairMaker {
    std::string name;
    std::function<std::unique_ptr<Pair>(const Ports& a, const Ports& b)> make;
};

std::vector<PairMaker> pair_makers();

// The devices at the ends of a cable; empty names: none are given.
std::pair<std::string, std::string> test_devices();

}  // namespace torusmp::transport::testing

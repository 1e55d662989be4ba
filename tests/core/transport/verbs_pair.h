// SPDX-License-Identifier: BSD-3-Clause
// Two verbs interfaces of one process, on the RDMA devices at both ends of a cable
// (pairs.h).
#pragma once

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/transport/verbs/interface.h"
#include "pairs.h"

namespace torusmp::transport::testing {

inline std::pair<std::string, std::string> verbs_devices() {
    const auto devices = test_devices();
    if (devices.first.empty())
        throw std::runtime_error(
            "TORUSMP_TEST_DEVICES: expected the network devices at the ends of a cable with RDMA");
    return devices;
}

inline verbs::InterfaceOptions verbs_options(const char* host, const std::string& device,
                                             const std::vector<PortOptions>& ports) {
    verbs::InterfaceOptions options;
    options.host = host;
    options.secret = derive_secret({});
    options.timeout = std::chrono::seconds(20);
    for (const PortOptions& port : ports) options.devices.push_back({port.port, device});
    return options;
}

class VerbsPair {
  public:
    using Ports = std::vector<PortOptions>;
    VerbsPair(const Ports& a, const Ports& b)
        : a_(a, verbs_options("a", verbs_devices().first, a)),
          b_(b, verbs_options("b", verbs_devices().second, b)) {}

    verbs::VerbsInterface& a() { return a_; }
    verbs::VerbsInterface& b() { return b_; }
    // The kernel's part runs beside this process.
    void pass_time() { std::this_thread::sleep_for(std::chrono::microseconds(100)); }

  private:
    verbs::VerbsInterface a_;
    verbs::VerbsInterface b_;
};

}  // namespace torusmp::transport::testing

// SPDX-License-Identifier: BSD-3-Clause
// Forwarding of frames by the kernel of this host: loads the program of its node
// (forward_program.h) and attaches it to the ingress of the node's links, by bpf(2) and
// rtnetlink(7).
//
// Any thread may call. Throws std::runtime_error with the system's reason.
#pragma once

#include <string>
#include <vector>

#include "core/transport/api/descriptor.h"
#include "core/transport/ethernet/forward_program.h"

namespace torusmp::transport::ethernet {

// A link's device, and the name of our program attached to it; empty if there is none.
struct ForwardingDevice {
    std::string device;
    std::string found;
};

// The programs attached to these devices; requires no privilege. Missing devices have none.
std::vector<ForwardingDevice> find_forwarding(const std::vector<std::string>& devices);

class FrameForwarding final : public Forwarding {
  public:
    std::vector<std::string> lay(const config::Settings& settings, int node) const override;
    std::vector<std::string> remove(const config::Settings& settings, int node) const override;
    std::string trouble(const config::Settings& settings, int node) const override;
};

}  // namespace torusmp::transport::ethernet

// SPDX-License-Identifier: BSD-3-Clause
// Values that a job passes to an interface of one of its ranks. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "routing/torus.h"

namespace torusmp::transport {

// Known only to the ranks of the job: proofs are keyed with it.
using Secret = std::array<std::byte, 32>;

// The network device behind a port.
struct PortDevice {
    std::uint32_t port;
    std::string name;
    // The torus coordinates of the other end, for a connection that the nodes in between forward.
    std::optional<routing::Coordinates> node = {};
};

struct Surroundings {
    Secret secret{};
    std::string host;  // the name of this host, for messages
    // The network devices behind ports: those of links and, if the transport needs a device for
    // every port, of connections that leave by a link. Some may be ports of other transports.
    std::vector<PortDevice> devices;
    bool oversubscribed = false;  // ranks outnumber cores
    bool beside_others = false;   // other interfaces sleep together with this one
    bool spares_links = false;    // the job continues without dead links
    std::function<void(std::string_view)> log;
};

}  // namespace torusmp::transport

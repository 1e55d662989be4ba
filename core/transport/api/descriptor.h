// SPDX-License-Identifier: BSD-3-Clause
// A transport's description of itself: one Descriptor each, all listed by core/transport/list.cpp.
// Code that chooses, makes, explains or checks transports uses descriptors and knows no transport
// by name.
//
// Descriptors and probes are constant and live as long as the program; any thread may use them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/cable.h"
#include "config/setting.h"
#include "config/settings.h"
#include "core/transport/api/interface.h"
#include "core/transport/api/surroundings.h"

namespace torusmp::transport {

// A problem that prevents the use of a transport, and its remedy; empty if there is none.
struct Trouble {
    std::string what, remedy;
    std::string text() const { return remedy.empty() ? what : what + ": " + remedy; }
};

// A transport's requirements on hosts and on the ends of links, and whether they are met. Each rank
// probes its own host, and the results travel as lines of text to all others
// (config::HostFacts::offers), so both ends of a link judge the same facts and reach the same
// result.
//
// The defaults are those of a transport without requirements.
class Probe {
  public:
    virtual ~Probe() = default;

    // The offers of this host on these network devices, or on all if none are given: lines of
    // space-separated words.
    virtual std::vector<std::string> offers(const std::vector<std::string>& /*devices*/) const {
        return {};
    }
    // Throws ConfigError that quotes a line which offers() cannot have written.
    virtual void check(const std::vector<std::string>& /*offers*/) const {}

    // Whether an end has the hardware this transport is made for, usable or not.
    virtual bool is_there(const config::Settings& /*settings*/,
                          const config::CableEnd& /*end*/) const {
        return false;
    }
    // Why the transport cannot be used at an end of a cable, or between its two ends. An end
    // without facts has not been probed and is assumed to be usable.
    virtual std::optional<Trouble> trouble(const config::Settings& /*settings*/,
                                           const config::CableEnd& /*end*/) const {
        return std::nullopt;
    }
    virtual std::optional<Trouble> trouble_between(const config::Settings& /*settings*/,
                                                   const config::CableEnd& /*one*/,
                                                   const config::CableEnd& /*other*/) const {
        return std::nullopt;
    }
    // trouble() for a connection that leaves by that end and is forwarded by the nodes in between.
    virtual std::optional<Trouble> trouble_forwarded(const config::Settings& /*settings*/,
                                                     const config::CableEnd& /*end*/) const {
        return std::nullopt;
    }
    // A resource of which a host has too little: the transport works if it is requested, but is not
    // chosen automatically.
    virtual std::optional<Trouble> shortage(const config::Settings& /*settings*/,
                                            const config::CableEnd& /*end*/) const {
        return std::nullopt;
    }
    // The shortage as a note about the whole host; empty if there is none.
    virtual std::string host_note(const config::Settings& /*settings*/, int /*node*/,
                                  const config::HostFacts& /*facts*/) const {
        return {};
    }
    // The resource that the transport uses on a cable if nothing prevents it, as text for users.
    virtual std::string reason(const config::Settings& /*settings*/,
                               const config::CableEnd& /*one*/,
                               const config::CableEnd& /*other*/) const {
        return {};
    }
    // A possible improvement in that case, and how to get it; empty if none.
    virtual std::string warning(const config::Settings& /*settings*/,
                                const config::CableEnd& /*one*/,
                                const config::CableEnd& /*other*/) const {
        return {};
    }
};

// Programs in the kernels of nodes that forward the connections of far ranks where the kernels'
// routes do not. All functions act on the node that this host is. Precondition: the settings have a
// torus. Throws std::runtime_error with the system's reason.
class Forwarding {
  public:
    virtual ~Forwarding() = default;

    // Installs the programs, replacing existing ones. Returns the devices of the links. Requires
    // privilege.
    virtual std::vector<std::string> lay(const config::Settings& settings, int node) const = 0;
    // Removes the programs. Returns the devices that had one.
    virtual std::vector<std::string> remove(const config::Settings& settings, int node) const = 0;
    // Why the node does not forward; empty if it does.
    virtual std::string trouble(const config::Settings& settings, int node) const = 0;
};

struct Descriptor {
    std::string_view name;   // in settings and messages, such as "tcp"
    std::string_view title;  // the medium of its links in sentences, such as "TCP"
    std::string_view help;   // one line
    // A link uses the transport with the highest rank that can carry it.
    int rank = 0;
    // Connects processes of one host, without a link; otherwise processes of different hosts.
    bool inside_host = false;
    // Every port needs a network device, so without a torus the transport carries nothing. Of the
    // transports that need no device, the one with the lowest rank is the fallback for all
    // connections.
    bool needs_devices = false;
    // Fast if each rank has a core of its own; not chosen automatically if ranks share cores.
    bool wants_cores = false;
    // Forwarded connections are addressed to the link by which they arrive, not to the node.
    bool reaches_link_addresses = false;
    Capabilities capabilities;
    const Probe& probe;
    const config::Table& settings;
    // Null if the kernels' routes suffice, or forwarding is impossible.
    const Forwarding* forwarding = nullptr;
    // Throws std::runtime_error with the reason and the remedy.
    std::unique_ptr<Interface> (*make)(const config::Settings& settings,
                                       const Surroundings& surroundings,
                                       const std::vector<PortOptions>& ports);
};

}  // namespace torusmp::transport

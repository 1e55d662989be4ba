// SPDX-License-Identifier: BSD-3-Clause
// What a transport says about itself: one Descriptor each, all listed by core/transport/list.cpp.
// Whoever chooses, makes, explains or checks transports asks descriptors and knows none by name.
//
// Descriptors and probes are constant and live as long as the program; any thread may ask them.
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

// What prevents the use of a transport, and what to do about it; remedy empty: nothing can be done.
struct Trouble {
    std::string what, remedy;
    std::string text() const { return remedy.empty() ? what : what + ": " + remedy; }
};

// What a transport needs of hosts and of the ends of links, and whether it is there. Each rank asks
// its own host, and what it finds travels as lines of text to all others
// (config::HostFacts::offers), so both ends of a link judge the same facts and come to the same
// answer.
//
// The defaults are the answers of a transport that needs nothing.
class Probe {
  public:
    virtual ~Probe() = default;

    // What this host offers on these network devices, or on all if none are given: lines of words.
    virtual std::vector<std::string> offers(const std::vector<std::string>& /*devices*/) const {
        return {};
    }
    // Throws ConfigError that quotes the line that offers() would not have written.
    virtual void check(const std::vector<std::string>& /*offers*/) const {}

    // Whether an end has what this transport is made for, usable or not.
    virtual bool is_there(const config::Settings& /*settings*/,
                          const config::CableEnd& /*end*/) const {
        return false;
    }
    // Why it cannot be used at an end of a cable, or between its two ends. An end without facts was
    // not asked, and is given the benefit of the doubt.
    virtual std::optional<Trouble> trouble(const config::Settings& /*settings*/,
                                           const config::CableEnd& /*end*/) const {
        return std::nullopt;
    }
    virtual std::optional<Trouble> trouble_between(const config::Settings& /*settings*/,
                                                   const config::CableEnd& /*one*/,
                                                   const config::CableEnd& /*other*/) const {
        return std::nullopt;
    }
    // The same for a connection that leaves by that end and is forwarded by the nodes between.
    virtual std::optional<Trouble> trouble_forwarded(const config::Settings& /*settings*/,
                                                     const config::CableEnd& /*end*/) const {
        return std::nullopt;
    }
    // What a host has too little of: the transport works if it is asked for, but is not chosen by
    // itself.
    virtual std::optional<Trouble> shortage(const config::Settings& /*settings*/,
                                            const config::CableEnd& /*end*/) const {
        return std::nullopt;
    }
    // The same as a note about the whole host; empty: nothing.
    virtual std::string host_note(const config::Settings& /*settings*/, int /*node*/,
                                  const config::HostFacts& /*facts*/) const {
        return {};
    }
    // What a cable is used through if nothing prevents it, in words for users.
    virtual std::string reason(const config::Settings& /*settings*/,
                               const config::CableEnd& /*one*/,
                               const config::CableEnd& /*other*/) const {
        return {};
    }
    // What then could be better, and what to do; empty: nothing.
    virtual std::string warning(const config::Settings& /*settings*/,
                                const config::CableEnd& /*one*/,
                                const config::CableEnd& /*other*/) const {
        return {};
    }
};

// Programs in the kernels of nodes, which pass on what the connections of far ranks send, where the
// kernels' routes do not. Of the node that this host is. Precondition: the settings have a torus.
// Throws std::runtime_error that says what the system refused.
class Forwarding {
  public:
    virtual ~Forwarding() = default;

    // In the place of what is there. Returns the devices of the links. Takes privilege.
    virtual std::vector<std::string> lay(const config::Settings& settings, int node) const = 0;
    // Returns the devices that had something.
    virtual std::vector<std::string> remove(const config::Settings& settings, int node) const = 0;
    // Why it does not forward; empty: it does.
    virtual std::string trouble(const config::Settings& settings, int node) const = 0;
};

struct Descriptor {
    std::string_view name;   // in settings and messages: "tcp"
    std::string_view title;  // what its links are made of, in sentences: "TCP"
    std::string_view help;   // one line
    // The transport of the highest rank that can carry a link takes it.
    int rank = 0;
    // Between processes of one host, which it joins without a link; otherwise between hosts.
    bool inside_host = false;
    // Every port needs a network device, so without a torus it carries nothing. A transport that
    // needs none carries whatever nothing better can.
    bool needs_devices = false;
    // Quick where each rank has a core of its own; not chosen by itself where ranks share cores.
    bool wants_cores = false;
    // Forwarded connections are addressed to the link by which they arrive, not to the node.
    bool reaches_link_addresses = false;
    Capabilities capabilities;
    const Probe& probe;
    const config::Table& settings;
    const Forwarding* forwarding = nullptr;  // null: kernels' routes are enough, or there is no way
    // Throws std::runtime_error that says what is wrong and what to do.
    std::unique_ptr<Interface> (*make)(const config::Settings& settings,
                                       const Surroundings& surroundings,
                                       const std::vector<PortOptions>& ports);
};

}  // namespace torusmp::transport

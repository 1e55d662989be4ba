// What a transport tells about itself: one Descriptor each, which core/transport/list.cpp lists.
// Whoever chooses, makes, explains or checks transports asks descriptors and knows none by name.
//
// Descriptors and probes are constant and live as long as the program; any thread may ask them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/cable.h"
#include "config/setting.h"
#include "config/settings.h"
#include "core/transport/api/interface.h"
#include "core/transport/common/network.h"

namespace torusmp::transport {

// What stands in the way of using a transport, and what to do about it; empty: nothing can be.
struct Trouble {
    std::string what, remedy;
};

// What a transport needs of hosts and of the ends of links, and whether it is there. Each rank asks
// its own host, and what it finds goes as lines of text to all others (config::HostFacts::offers);
// so both ends of a link judge the same facts and come to the same answer.
//
// The answers here are those of a transport that needs nothing.
class Probe {
  public:
    virtual ~Probe() = default;

    // What this host offers on these network devices, or on all of them: lines of plain words.
    virtual std::vector<std::string> offers(const std::vector<std::string>& /*devices*/) const {
        return {};
    }
    // Throws ConfigError that quotes the line which is not what offers() writes.
    virtual void check(const std::vector<std::string>& /*offers*/) const {}

    // Whether an end has what this transport is made for, be it usable or not.
    virtual bool is_there(const config::Settings& /*settings*/,
                          const config::CableEnd& /*end*/) const {
        return false;
    }
    // Why it cannot be used at an end of a cable, or between two; an end without facts was not
    // asked, and nothing is known against it.
    virtual std::optional<Trouble> trouble(const config::Settings& /*settings*/,
                                           const config::CableEnd& /*end*/) const {
        return std::nullopt;
    }
    virtual std::optional<Trouble> trouble_between(const config::Settings& /*settings*/,
                                                   const config::CableEnd& /*one*/,
                                                   const config::CableEnd& /*other*/) const {
        return std::nullopt;
    }
    // The same for a connection that leaves by that end and that the nodes between forward.
    virtual std::optional<Trouble> trouble_forwarded(const config::Settings& /*settings*/,
                                                     const config::CableEnd& /*end*/) const {
        return std::nullopt;
    }
    // What a host has too little of: it could be used all the same, but not by itself.
    virtual std::optional<Trouble> shortage(const config::Settings& /*settings*/,
                                            const config::CableEnd& /*end*/) const {
        return std::nullopt;
    }
    // The same as a note about a whole host; empty: nothing.
    virtual std::string host_note(const config::Settings& /*settings*/, int /*node*/,
                                  const config::HostFacts& /*facts*/) const {
        return {};
    }
    // By what a cable is used where nothing stands against it, for people.
    virtual std::string reason(const config::Settings& /*settings*/,
                               const config::CableEnd& /*one*/,
                               const config::CableEnd& /*other*/) const {
        return {};
    }
    // What is not as good as it could be then, and what to do; empty: nothing.
    virtual std::string warning(const config::Settings& /*settings*/,
                                const config::CableEnd& /*one*/,
                                const config::CableEnd& /*other*/) const {
        return {};
    }
};

// What a job gives to the interface of one of its ranks.
struct Surroundings {
    Secret secret{};
    std::string host;  // the name of this host, for messages
    // The network devices behind ports: of links, and where the transport needs a device for
    // every port, of connections that leave by a link too. Some may be ports of other transports.
    std::vector<NetworkOptions::Device> devices;
    bool crowded = false;        // ranks outnumber cores
    bool beside_others = false;  // other interfaces sleep together with this one
    std::function<void(std::string_view)> log;
};

struct Descriptor {
    std::string_view name;   // in settings and messages: "tcp"
    std::string_view title;  // what its links are made of, in sentences: "TCP"
    std::string_view help;   // one line
    // Of those that can carry a link the highest rank takes it.
    int rank = 0;
    // Between processes of one host, whose ranks it joins without a link; else between hosts.
    bool inside_host = false;
    // Every port needs a network device, so it carries nothing where no torus is set. Where not,
    // it carries whatever nothing better can.
    bool needs_devices = false;
    // Connections that nodes between forward are led to the address of the link by which they
    // come, and not to the node's.
    bool reaches_link_addresses = false;
    Capabilities capabilities;
    const Probe& probe;
    const config::Table& settings;
    // Throws std::runtime_error that says what is wrong and what to do.
    std::unique_ptr<Interface> (*make)(const config::Settings& settings,
                                       const Surroundings& surroundings,
                                       const std::vector<PortOptions>& ports);
};

}  // namespace torusmp::transport

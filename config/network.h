// SPDX-License-Identifier: BSD-3-Clause
// Network facts of hosts, and the check of a whole machine against its geometry file before any
// rank starts.
//
// this_host() asks the kernel about this host (a few milliseconds; by sockets and netlink, so it
// sees the network namespace it runs in); its facts can be sent as text, and parse_facts() trusts
// nothing in what it reads. find_faults() and the small functions around it are pure. All are
// plain values without state; any thread may call.
//
// core/transport/machine.h adds what transports find and check.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "config/check.h"
#include "config/settings.h"
#include "routing/detours.h"
#include "routing/torus.h"

namespace torusmp::config {

struct Device {
    std::string name;
    int index = 0;
    bool loopback = false;
    bool up = false;       // the administrator switched it on
    bool carrier = false;  // it sees the other end of its cable; false while it is not up
    int mtu = 0;
    std::optional<int> megabits;      // per second; nothing: the driver does not say
    std::optional<bool> full_duplex;  // nothing: the driver does not say
    std::string mac;                  // "02:00:00:00:00:01"; empty: it has none
    std::vector<base::Address> addresses;

    // The addresses that a link can use: IPv4 first, then IPv6 link-local.
    const base::Address* ipv4() const;
    const base::Address* ipv6_link_local() const;
    friend bool operator==(const Device&, const Device&) = default;
};

struct RouteFact {
    base::Address to;                  // 0.0.0.0/0: the default route
    std::string device;                // empty: more than one, or none
    std::optional<base::Address> via;  // nothing: on the link itself
    friend bool operator==(const RouteFact&, const RouteFact&) = default;
};

struct CableEnd;

struct HostFacts {
    std::string name;      // as it calls itself
    std::string identity;  // equal where two names lead to one kernel and network namespace
    std::string geometry;  // file_hash() of the geometry file as that host sees it; empty: none
    std::vector<Device> devices;
    // By transport: what its links could use here, in the transport's own words (see
    // transport::Probe).
    std::map<std::string, std::vector<std::string>> offers;
    std::optional<std::uint64_t> lock_limit;  // bytes a process may lock; nothing: no limit
    bool routes_known = false;                // whether `routes` was asked for
    std::vector<RouteFact> routes;

    const Device* find(std::string_view device) const;
    // Equal where hosts are containers or network namespaces of one kernel; empty: not known.
    std::string machine() const { return identity.substr(0, identity.find(':')); }
    // The address by which nodes that are no neighbours reach this one: the first address on the
    // loopback device that is not a loopback address, else that of the first link that has one.
    const base::Address* node_address() const;
    friend bool operator==(const HostFacts&, const HostFacts&) = default;
};

// The machine of HostFacts::machine() that this is.
std::string this_machine();
// Throws std::system_error if the kernel does not answer. `with_routes`: its routing tables too,
// which have to be checked for forward = "kernel".
HostFacts this_host(const std::string& geometry_file = {}, bool with_routes = false);
std::string format_facts(const HostFacts& facts);
// The devices that leave a node by [links], and these as this host has them: what a rank needs to
// know of another to choose a transport.
std::vector<std::string> link_devices(const Settings& settings, int node);
HostFacts facts_of_links(const Settings& settings, int node);

// Throws ConfigError that quotes the line that format_facts() would not have written.
HostFacts parse_facts(std::string_view text);

// A hash of the contents; empty if the file cannot be read.
std::string file_hash(const std::string& path);

// Which of these hosts a name means, with or without the domain.
std::optional<int> find_host(const std::vector<std::string>& hosts, std::string_view name);
// The node on a host, likewise.
std::optional<int> find_node(const Settings& settings, const std::string& host);
// The device by which a node's link in a direction leaves, by [links]; empty: none is given. It
// does not ask whether the torus has a link there.
std::string link_device(const Settings& settings, int node, routing::Direction direction);
// "0+", "2-"
std::string direction_name(routing::Direction direction);

// Where the parts of settings.file() stand, for messages that name a line; empty without a file.
Locations read_locations(const Settings& settings);

// Something in which the settings and the hosts disagree.
struct MachineFault {
    // What is wrong with one end of a cable, the surest causes first: a device that is down
    // explains why the other end sees no carrier.
    enum class Cable { unnamed, absent, down, no_carrier, no_address, addresses, mtu };
    struct OfCable {
        routing::Link cable;  // of the torus of nodes
        Cable kind{};
        std::string brief;  // "eth1 of qcd000 is down"

        // Whether nothing can pass over it.
        bool dead() const { return kind <= Cable::no_address; }
    };

    std::string text;                 // file and line, host, device, found, expected, what to do
    std::optional<OfCable> of_cable;  // nothing: the file, a host or a setting is wrong
};

// All that is wrong between the settings and the hosts as they are; empty: nothing. `by_node` has
// the facts of host_names(settings) in their order. `geometry`: file_hash() of the file that these
// settings came from; empty: hosts are compared with each other. `judge`: what the settings ask for
// and a cable between two sound devices cannot do; empty: nothing.
using CableJudge = std::function<std::string(const CableEnd& one, const CableEnd& other)>;
std::vector<MachineFault> find_faults(const Settings& settings,
                                      const std::vector<HostFacts>& by_node,
                                      const Locations& locations, const std::string& geometry,
                                      const CableJudge& judge);

}  // namespace torusmp::config

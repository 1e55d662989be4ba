// SPDX-License-Identifier: BSD-3-Clause
// Network facts of hosts, and the check of a whole machine against its geometry file before any
// rank starts.
//
// this_host() asks the kernel about this host (a few milliseconds; by sockets and netlink, so it
// sees the network namespace it runs in). Its facts can be sent as text, and parse_facts()
// validates everything that it reads. find_faults() and the small functions around it are pure. All
// are plain values without state; any thread may call.
//
// core/transport/machine.h adds the facts and checks of the transports.
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
    bool up = false;       // enabled by the administrator
    bool carrier = false;  // link detected; false while the device is not up
    int mtu = 0;
    std::optional<int> megabits;      // per second; empty if the driver does not report it
    std::optional<bool> full_duplex;  // empty if the driver does not report it
    std::string mac;                  // "02:00:00:00:00:01"; empty if none
    std::vector<base::Address> addresses;

    // The addresses that a link can use: IPv4 first, then IPv6 link-local.
    const base::Address* ipv4() const;
    const base::Address* ipv6_link_local() const;
    friend bool operator==(const Device&, const Device&) = default;
};

// Whether the kernel transmits on the device. For up to a second after a device got its carrier it
// drops without an error what is sent there.
bool transmits(const Device& device);

struct RouteFact {
    base::Address to;                  // 0.0.0.0/0: the default route
    std::string device;                // empty if more than one, or none
    std::optional<base::Address> via;  // empty if on the link itself
    friend bool operator==(const RouteFact&, const RouteFact&) = default;
};

struct CableEnd;

struct HostFacts {
    std::string name;      // the host's own name
    std::string identity;  // equal if two names lead to the same kernel and network namespace
    std::string geometry;  // file_hash() of the geometry file on that host; empty if none
    std::vector<Device> devices;
    // The resources that the links of each transport could use here, in the transport's own format
    // (see transport::Probe).
    std::map<std::string, std::vector<std::string>> offers;
    std::optional<std::uint64_t> lock_limit;  // bytes a process may lock; empty if unlimited
    bool routes_known = false;                // whether `routes` was requested
    std::vector<RouteFact> routes;

    const Device* find(std::string_view device) const;
    // Equal if hosts are containers or network namespaces of one kernel; empty if not known.
    std::string machine() const { return identity.substr(0, identity.find(':')); }
    // The address by which nodes that are not neighbours reach this one: the first address on the
    // loopback device that is not a loopback address, otherwise the address of the first link that
    // has one.
    const base::Address* node_address() const;
    friend bool operator==(const HostFacts&, const HostFacts&) = default;
};

// The value of HostFacts::machine() for this host.
std::string this_machine();
// `with_routes` includes the routing tables, which forward = "kernel" needs checked. Throws
// std::system_error if the kernel does not answer.
HostFacts this_host(const std::string& geometry_file = {}, bool with_routes = false);
std::string format_facts(const HostFacts& facts);
// The devices of a node's links according to [links], with their state on this host: a rank needs
// these facts of a peer to choose a transport.
std::vector<std::string> link_devices(const Settings& settings, int node);
HostFacts facts_of_links(const Settings& settings, int node);

// Throws ConfigError that quotes the first line that format_facts() cannot have written.
HostFacts parse_facts(std::string_view text);

// A hash of the contents; empty if the file cannot be read.
std::string file_hash(const std::string& path);

// The index of the host that a name refers to, with or without the domain.
std::optional<int> find_host(const std::vector<std::string>& hosts, std::string_view name);
// The node on a host; the name may omit the domain.
std::optional<int> find_node(const Settings& settings, const std::string& host);
// The device of a node's link in a direction according to [links]; empty if not given. Does not
// check that the torus has a link there.
std::string link_device(const Settings& settings, int node, routing::Direction direction);
// "0+", "2-"
std::string direction_name(routing::Direction direction);

// The locations of the parts of settings.file(), for messages that cite a line; empty without a
// file.
Locations read_locations(const Settings& settings);

// A disagreement between the settings and the hosts.
struct MachineFault {
    // The fault of one end of a cable, the surest causes first: a device that is down explains why
    // the other end sees no carrier. `moved` means that the end has the addresses of another cable
    // of that host, for example after two devices were exchanged.
    enum class Cable { unnamed, absent, down, no_carrier, no_address, addresses, moved, mtu };
    struct OfCable {
        routing::Link cable;  // of the torus of nodes
        Cable kind{};
        std::string brief;  // "eth1 of qcd000 is down"

        // Whether the cable cannot carry any packets.
        bool dead() const { return kind <= Cable::no_address; }
    };

    std::string text;                 // file and line, host, device, found, expected, what to do
    std::optional<OfCable> of_cable;  // empty if the fault is in the file, a host or a setting
};

// All disagreements between the settings and the actual hosts; empty if none. `by_node` has the
// facts of host_names(settings) in their order. `geometry` is the file_hash() of the file that
// these settings came from, or empty if hosts are compared with each other. `judge` returns a
// requirement of the settings that a cable between two working devices cannot meet; empty if none.
using CableJudge = std::function<std::string(const CableEnd& one, const CableEnd& other)>;
std::vector<MachineFault> find_faults(const Settings& settings,
                                      const std::vector<HostFacts>& by_node,
                                      const Locations& locations, const std::string& geometry,
                                      const CableJudge& judge);

}  // namespace torusmp::config

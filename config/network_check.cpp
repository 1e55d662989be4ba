// SPDX-License-Identifier: BSD-3-Clause
// Checks the settings against the facts of all hosts.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "base/address.h"
#include "base/text.h"
#include "config/cable.h"
#include "config/geometry.h"
#include "config/geometry_file.h"
#include "config/network.h"
#include "config/raw.h"
#include "config/route_check.h"

namespace torusmp::config {

namespace {

using routing::Direction;

// One end of a cable: its node, its direction, and its device.
struct End {
    int node = 0;
    Direction direction;
    std::string name;                // of the device; empty if not given
    const Device* device = nullptr;  // null if it does not exist
};

// Whether a link could work over it at all; if not, the two ends are not compared.
bool sound(const End& end) {
    return end.device && end.device->up && end.device->carrier;
}

std::string joined(const std::vector<std::string>& words) {
    return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::vector<std::string> ipv4_words(const Device& device) {
    std::vector<std::string> words;
    for (const base::Address& address : device.addresses)
        if (!address.v6) words.push_back(address.with_prefix());
    return words;
}

class MachineCheck {
  public:
    MachineCheck(const Settings& settings, const std::vector<HostFacts>& hosts,
                 const Locations& locations, const std::string& geometry, const CableJudge& judge)
        : settings_(settings),
          hosts_(hosts),
          locations_(locations),
          geometry_(geometry),
          judge_(judge),
          torus_(*node_torus(settings)) {}

    std::vector<MachineFault> run() {
        check_geometry_files();
        if (torus_.size() > 1 && settings_[setting::links].empty() &&
            settings_[setting::host_links].empty() && settings_[setting::cables].list.empty()) {
            report(settings_.origin(setting::hosts).where,
                   fmt::format("nodes.hosts names {} hosts, but [links] is missing: expected a "
                               "device for each direction, for example \"0+\" = \"eth1\"",
                               torus_.size()));
            return std::move(faults_);
        }
        check_aliases();
        for (int node = 0; node < torus_.size(); ++node) check_node(node);
        for (int node = 0; node < torus_.size(); ++node) check_cables(node);
        if (settings_[setting::forward] == Forward::kernel)
            for (const RouteFault& fault : find_route_faults(settings_, hosts_))
                report(host_place(fault.node), fault.text);
        return std::move(faults_);
    }

  private:
    void report(const std::string& where, const std::string& message) {
        faults_.push_back({where.empty() ? message : where + ": " + message, {}});
    }
    void say_of(const End& end, MachineFault::Cable kind, const std::string& where,
                const std::string& message, std::string brief) {
        report(where, message);
        faults_.back().of_cable = {routing::link_by(torus_, end.node, end.direction), kind,
                                   std::move(brief)};
    }
    void say_of(const End& end, MachineFault::Cable kind, const std::string& message,
                std::string brief) {
        say_of(end, kind, link_place(end), message, std::move(brief));
    }

    const std::string& host(int node) const { return host_names(settings_)[std::size_t(node)]; }
    const HostFacts& facts(int node) const { return hosts_[std::size_t(node)]; }

    // The line of a part if the file gave the value, otherwise the origin of the value.
    std::string location(const Origin& origin, const std::string& part) const {
        const auto found = locations_.find(part);
        return origin.kind == Origin::Kind::file && found != locations_.end() ? found->second
                                                                              : origin.where;
    }

    std::string host_place(int node) const {
        return location(settings_.origin(setting::hosts), fmt::format("nodes.hosts.{}", node));
    }

    // The line that assigns a device to a link.
    std::string link_place(const End& end) const {
        if (const auto& nodes = settings_[setting::cables].nodes) {
            const routing::Link link = routing::link_by(torus_, end.node, end.direction);
            const routing::GraphCable cable{link.rank, link.dimension,
                                            routing::far_end(torus_, link)};
            const auto& all = nodes->cables();
            return location(settings_.origin(setting::cables),
                            fmt::format("torus.cables.{}",
                                        std::find(all.begin(), all.end(), cable) - all.begin()));
        }
        const std::string direction = direction_name(end.direction);
        const auto own = settings_[setting::host_links].find(host(end.node));
        if (own != settings_[setting::host_links].end() && own->second.count(direction) != 0)
            return location(settings_.origin(setting::host_links),
                            fmt::format("links.hosts.{}/{}", host(end.node), direction));
        return location(settings_.origin(setting::links), "links." + direction);
    }

    std::optional<End> end_at(int node, Direction direction) const {
        if (!torus_.neighbour(node, direction)) return std::nullopt;
        End end{node, direction, link_device(settings_, node, direction), nullptr};
        if (!end.name.empty()) end.device = facts(node).find(end.name);
        return end;
    }

    // "host a: device eth1 of link 0+ (to b)"
    std::string describe(const End& end) const {
        return fmt::format("host {}: device {}{} (to {})", host(end.node), end.name,
                           settings_[setting::cables].nodes
                               ? std::string()
                               : " of link " + direction_name(end.direction),
                           host(*torus_.neighbour(end.node, end.direction)));
    }

    void check_geometry_files() {
        std::string expected = geometry_, whose = "here";
        for (int node = 0; node < torus_.size(); ++node) {
            const std::string& found = facts(node).geometry;
            if (found.empty()) continue;  // that host does not have the file, and does not need it
            if (expected.empty()) expected = found, whose = "on host " + host(node);
            if (found != expected)
                report(base::printable(settings_.file(), 512),
                       fmt::format("the geometry file differs between hosts: on host {} it has the "
                                   "hash {}, {} {}: expected the same file on every host, or only "
                                   "here",
                                   host(node), found, whose, expected));
        }
    }

    // Two names that lead to one machine mean that one host is listed twice, unless they share no
    // device.
    void check_aliases() {
        std::unordered_map<std::string, int> seen;
        for (int node = 0; node < torus_.size(); ++node) {
            if (facts(node).identity.empty()) continue;
            const auto [first, fresh] = seen.emplace(facts(node).identity, node);
            if (fresh) continue;
            if (const auto shared = shared_device(first->second, node))
                report(
                    host_place(node),
                    fmt::format("nodes.hosts names one machine twice: \"{}\" and \"{}\" (nodes {} "
                                "and {}) are the same host, and both would use its device {}: "
                                "expected a different host for each node",
                                host(first->second), host(node), first->second, node, *shared));
        }
    }

    std::optional<std::string> shared_device(int a, int b) const {
        std::set<std::string> used;
        for (const End& end : ends_of(a)) used.insert(end.name);
        for (const End& end : ends_of(b))
            if (!end.name.empty() && used.count(end.name)) return end.name;
        return std::nullopt;
    }

    std::vector<End> ends_of(int node) const {
        std::vector<End> ends;
        for (int i = 0; i < 2 * torus_.link_dimensions(); ++i)
            if (auto end = end_at(node, Direction::from_index(i))) ends.push_back(std::move(*end));
        return ends;
    }

    void check_node(int node) {
        for (const End& end : ends_of(node)) {
            if (end.name.empty())
                say_of(end, MachineFault::Cable::unnamed, settings_.origin(setting::links).where,
                       fmt::format("host {} has a link {} to {}, but [links] has no device for "
                                   "it: expected \"{}\" = \"(device)\"",
                                   host(node), direction_name(end.direction),
                                   host(*torus_.neighbour(node, end.direction)),
                                   direction_name(end.direction)),
                       fmt::format("[links] has no device of {} for {}", host(node),
                                   direction_name(end.direction)));
            else
                check_device(end);
        }
    }

    void check_device(const End& end) {
        const auto of_host = [&](const char* what) {
            return fmt::format("{} of {} {}", end.name, host(end.node), what);
        };
        if (!end.device)
            say_of(end, MachineFault::Cable::absent,
                   describe(end) + " does not exist: " + known_devices(end),
                   fmt::format("{} has no device {}", host(end.node), end.name));
        else if (!end.device->up)
            say_of(
                end, MachineFault::Cable::down,
                describe(end) +
                    fmt::format(" is down: bring it up there with \"ip link set {} up\"", end.name),
                of_host("is down"));
        else if (!end.device->carrier)
            say_of(end, MachineFault::Cable::no_carrier,
                   describe(end) +
                       " has no carrier: is its cable plugged in at both ends, and is the device "
                       "at the other end up?",
                   of_host("has no carrier"));
        else if (!end.device->ipv4() && !end.device->ipv6_link_local())
            say_of(end, MachineFault::Cable::no_address,
                   describe(end) +
                       " has no address: expected an IPv4 address (torus-info netplan plans them) "
                       "or enabled IPv6",
                   of_host("has no address"));
    }

    std::string known_devices(const End& end) const {
        std::vector<std::string> names;
        for (const Device& device : facts(end.node).devices)
            if (!device.loopback) names.push_back(device.name);
        const std::string_view meant = base::nearest(end.name, {names.begin(), names.end()});
        return fmt::format("expected one of {}{}", joined(names),
                           meant.empty() ? "" : fmt::format("; did you mean {}?", meant));
    }

    // Checks every cable once, from the node at its minus end.
    void check_cables(int node) {
        for (const End& end : ends_of(node)) {
            if (end.direction.sign < 0) continue;
            const int peer = *torus_.neighbour(node, end.direction);
            const End other = *end_at(peer, end.direction.opposite());
            if (!sound(end) || !sound(other)) continue;  // reported before
            check_networks(end, other);
            ask_judge(end, other);
            if (end.device->mtu != other.device->mtu)
                say_of(end, MachineFault::Cable::mtu,
                       fmt::format("{} has MTU {}, but the other end, device {} of host {}, has "
                                   "{}: expected the same at both ends of a cable",
                                   describe(end), end.device->mtu, other.name, host(peer),
                                   other.device->mtu),
                       fmt::format("MTU {} at {}, {} at {}", end.device->mtu, host(node),
                                   other.device->mtu, host(peer)));
        }
    }

    void ask_judge(const End& end, const End& other) {
        const std::string found = judge_({end.node, end.direction, &facts(end.node)},
                                         {other.node, other.direction, &facts(other.node)});
        if (!found.empty()) report(link_place(end), found);
    }

    // IPv4 addresses that do not match mean a wrong device or a wrong plan, even if IPv6 would
    // work.
    void check_networks(const End& end, const End& other) {
        const auto mine = ipv4_words(*end.device), theirs = ipv4_words(*other.device);
        if (mine.empty() || theirs.empty()) {
            if (end.device->addresses.empty() || other.device->addresses.empty()) return;
            if (end.device->ipv6_link_local() && other.device->ipv6_link_local()) return;
            say_of(end, MachineFault::Cable::no_address,
                   fmt::format("{} and the other end, device {} of host {}, have no kind of "
                               "address in common: expected IPv4 at both, or IPv6 "
                               "link-local at both",
                               describe(end), other.name, host(other.node)),
                   "its ends have no kind of address in common");
            return;
        }
        if (fit(*end.device, *other.device)) return;
        using Cable = MachineFault::Cable;
        // With IPv6 it works all the same.
        const bool works = end.device->ipv6_link_local() && other.device->ipv6_link_local();
        const bool moved = fits_another(end) || fits_another(other);
        say_of(
            end,
            !works  ? Cable::no_address
            : moved ? Cable::moved
                    : Cable::addresses,
            fmt::format("{} has {}, but the other end, device {} of host {}, has {}: expected "
                        "two addresses of one network",
                        describe(end), joined(mine), other.name, host(other.node), joined(theirs)),
            "its ends have addresses of different networks");
    }

    // Two IPv4 addresses of one network.
    static bool fit(const Device& one, const Device& other) {
        for (const base::Address& a : one.addresses)
            for (const base::Address& b : other.addresses)
                if (!a.v6 && a.same_network(b) && a.bytes != b.bytes) return true;
        return false;
    }

    // Whether another cable of the same host has the address of this end.
    bool fits_another(const End& end) const {
        const auto ends = ends_of(end.node);
        return std::any_of(ends.begin(), ends.end(), [&](const End& cable) {
            if (cable.direction == end.direction) return false;
            const auto far =
                end_at(*torus_.neighbour(cable.node, cable.direction), cable.direction.opposite());
            return far->device && fit(*end.device, *far->device);
        });
    }

    const Settings& settings_;
    const std::vector<HostFacts>& hosts_;
    const Locations& locations_;
    const std::string& geometry_;
    const CableJudge& judge_;
    const routing::Torus torus_;
    std::vector<MachineFault> faults_;
};

}  // namespace

std::vector<MachineFault> find_faults(const Settings& settings,
                                      const std::vector<HostFacts>& by_node,
                                      const Locations& locations, const std::string& geometry,
                                      const CableJudge& judge) {
    if (host_names(settings).empty() || !node_torus(settings)) return {};
    if (by_node.size() != host_names(settings).size())
        throw std::invalid_argument(fmt::format("facts of {} hosts, expected {}", by_node.size(),
                                                host_names(settings).size()));
    return MachineCheck(settings, by_node, locations, geometry, judge).run();
}

}  // namespace torusmp::config

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

namespace torusmp::config {

namespace {

using routing::Direction;

// One end of a cable: whose, in which direction, and its device.
struct End {
    int node = 0;
    Direction direction;
    std::string name;                // of the device; empty: none is given
    const Device* device = nullptr;  // null: no such device
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

// Where a packet to an address would go, as the kernel decides: the longest prefix that fits.
class RouteTable {
  public:
    explicit RouteTable(const HostFacts& facts) {
        for (const RouteFact& route : facts.routes) {
            prefixes_.insert({route.to.v6, route.to.prefix});
            networks_.insert(masked(route.to, route.to.prefix));
        }
    }

    bool reaches(const base::Address& address) const {
        return std::any_of(prefixes_.begin(), prefixes_.end(), [&](const auto& known) {
            return known.first == address.v6 && networks_.count(masked(address, known.second)) != 0;
        });
    }

  private:
    using Key = std::pair<int, std::array<std::uint8_t, 16>>;  // family and prefix, network

    static Key masked(const base::Address& address, int prefix) {
        Key key{(address.v6 ? 256 : 0) + prefix, {}};
        for (int bit = 0; bit < prefix; bit += 8) {
            const auto mask = std::uint8_t(prefix - bit >= 8 ? 0xff : 0xff << (8 - (prefix - bit)));
            const auto i = std::size_t(bit / 8);
            key.second[i] = address.bytes[i] & mask;
        }
        return key;
    }

    std::set<std::pair<bool, int>> prefixes_;
    std::set<Key> networks_;
};

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
            settings_[setting::host_links].empty()) {
            say(settings_.origin(setting::hosts).where,
                fmt::format("nodes.hosts names {} hosts, but no [links] say which devices join "
                            "them: expected a device for each direction, like \"0+\" = \"eth1\"",
                            torus_.size()));
            return std::move(faults_);
        }
        check_aliases();
        for (int node = 0; node < torus_.size(); ++node) check_node(node);
        for (int node = 0; node < torus_.size(); ++node) check_cables(node);
        if (settings_[setting::forward] == Forward::kernel) check_routes();
        return std::move(faults_);
    }

  private:
    void say(const std::string& where, const std::string& message) {
        faults_.push_back({where.empty() ? message : where + ": " + message, {}});
    }
    void say_of(const End& end, MachineFault::Cable kind, const std::string& where,
                const std::string& message, std::string brief) {
        say(where, message);
        faults_.back().of_cable = {routing::link_by(torus_, end.node, end.direction), kind,
                                   std::move(brief)};
    }
    void say_of(const End& end, MachineFault::Cable kind, const std::string& message,
                std::string brief) {
        say_of(end, kind, link_place(end), message, std::move(brief));
    }

    const std::string& host(int node) const { return host_names(settings_)[std::size_t(node)]; }
    const HostFacts& facts(int node) const { return hosts_[std::size_t(node)]; }

    // The line of a part if the file gave the value, else wherever the value came from.
    std::string location(const Origin& origin, const std::string& part) const {
        const auto found = locations_.find(part);
        return origin.kind == Origin::Kind::file && found != locations_.end() ? found->second
                                                                              : origin.where;
    }

    std::string host_place(int node) const {
        return location(settings_.origin(setting::hosts), fmt::format("nodes.hosts.{}", node));
    }

    // The line that gives a link its device.
    std::string link_place(const End& end) const {
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
        return fmt::format("host {}: device {} of link {} (to {})", host(end.node), end.name,
                           direction_name(end.direction),
                           host(*torus_.neighbour(end.node, end.direction)));
    }

    void check_geometry_files() {
        std::string expected = geometry_, whose = "here";
        for (int node = 0; node < torus_.size(); ++node) {
            const std::string& found = facts(node).geometry;
            if (found.empty()) continue;  // that host does not have the file, and need not have it
            if (expected.empty()) expected = found, whose = "on host " + host(node);
            if (found != expected)
                say(base::printable(settings_.file(), 512),
                    fmt::format("the geometry file differs between hosts: on host {} it has the "
                                "hash {}, {} {}: expected the same file everywhere, or none but "
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
                say(host_place(node),
                    fmt::format("nodes.hosts names one machine twice: \"{}\" and \"{}\" (nodes {} "
                                "and {}) are the same host, and both would use its device {}: "
                                "expected a host of its own for each node",
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
        for (int i = 0; i < 2 * torus_.dimensions(); ++i)
            if (auto end = end_at(node, Direction::from_index(i))) ends.push_back(std::move(*end));
        return ends;
    }

    void check_node(int node) {
        for (const End& end : ends_of(node)) {
            if (end.name.empty())
                say_of(end, MachineFault::Cable::unnamed, settings_.origin(setting::links).where,
                       fmt::format("host {} has a link {} to {}, but [links] gives it no device: "
                                   "expected \"{}\" = \"(device)\"",
                                   host(node), direction_name(end.direction),
                                   host(*torus_.neighbour(node, end.direction)),
                                   direction_name(end.direction)),
                       fmt::format("[links] gives {} no device for {}", host(node),
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
            say_of(end, MachineFault::Cable::down,
                   describe(end) +
                       fmt::format(" is down: switch it on there, \"ip link set {} up\"", end.name),
                   of_host("is down"));
        else if (!end.device->carrier)
            say_of(end, MachineFault::Cable::no_carrier,
                   describe(end) +
                       " sees no carrier: is its cable plugged in at both ends, and "
                       "the device at the other end up?",
                   of_host("sees no carrier"));
        else if (!end.device->ipv4() && !end.device->ipv6_link_local())
            say_of(end, MachineFault::Cable::no_address,
                   describe(end) +
                       " has no address: expected an IPv4 address (torus-info "
                       "netplan plans them), or IPv6 switched on",
                   of_host("has no address"));
    }

    std::string known_devices(const End& end) const {
        std::vector<std::string> names;
        for (const Device& device : facts(end.node).devices)
            if (!device.loopback) names.push_back(device.name);
        const std::string_view meant = base::nearest(end.name, {names.begin(), names.end()});
        return fmt::format("expected one of those it has: {}{}", joined(names),
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
        if (!found.empty()) say(link_place(end), found);
    }

    // IPv4 addresses that do not fit mean a wrong device or a wrong plan, even if IPv6 would do.
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
        for (const base::Address& a : end.device->addresses)
            for (const base::Address& b : other.device->addresses)
                if (!a.v6 && a.same_network(b) && a.bytes != b.bytes) return;
        // With IPv6 it works all the same.
        const bool works = end.device->ipv6_link_local() && other.device->ipv6_link_local();
        say_of(
            end, works ? MachineFault::Cable::addresses : MachineFault::Cable::no_address,
            fmt::format("{} has {}, but the other end, device {} of host {}, has {}: expected "
                        "two addresses of one network",
                        describe(end), joined(mine), other.name, host(other.node), joined(theirs)),
            "its ends have addresses of different networks");
    }

    void check_routes() {
        for (int target = 0; target < torus_.size(); ++target)
            if (!facts(target).node_address())
                say(host_place(target),
                    fmt::format("host {} has no address by which others could reach it, and "
                                "routing.forward = \"kernel\" needs one: torus-info netplan plans "
                                "an address for each node",
                                host(target)));
        for (int node = 0; node < torus_.size(); ++node)
            if (facts(node).routes_known) check_routes_of(node);
    }

    void check_routes_of(int node) {
        const RouteTable routes(facts(node));
        int missing = 0, first = -1;
        for (int target = 0; target < torus_.size(); ++target) {
            const base::Address* address = facts(target).node_address();
            // Neighbours and other ranks of the host are reached without a route.
            if (!address || torus_.distance(node, target) < 2 || routes.reaches(*address)) continue;
            if (missing++ == 0) first = target;
        }
        if (missing == 0) return;
        say(host_place(node),
            fmt::format("host {} has no route to host {} ({}){}, and routing.forward = \"kernel\" "
                        "needs one: lay the routes that torus-info netplan prints, or set "
                        "routing.forward = \"relay\"",
                        host(node), host(first), facts(first).node_address()->text(),
                        missing > 1 ? fmt::format(" nor to {} others", missing - 1) : ""));
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

std::string direction_name(Direction direction) {
    return fmt::format("{}{}", direction.dimension, direction.sign > 0 ? '+' : '-');
}

std::string link_device(const Settings& settings, int node, Direction direction) {
    const std::string name = direction_name(direction);
    if (std::size_t(node) < host_names(settings).size()) {
        const auto own =
            settings[setting::host_links].find(host_names(settings)[std::size_t(node)]);
        if (own != settings[setting::host_links].end())
            if (const auto found = own->second.find(name); found != own->second.end())
                return found->second;
    }
    const auto found = settings[setting::links].find(name);
    return found == settings[setting::links].end() ? std::string() : found->second;
}

std::optional<int> find_host(const std::vector<std::string>& hosts, std::string_view name) {
    const auto short_name = [](std::string_view host) { return host.substr(0, host.find('.')); };
    for (std::size_t node = 0; node < hosts.size(); ++node)
        if (hosts[node] == name || short_name(hosts[node]) == short_name(name)) return int(node);
    return std::nullopt;
}

std::optional<int> find_node(const Settings& settings, const std::string& host) {
    return find_host(host_names(settings), host);
}

Locations read_locations(const Settings& settings) {
    Locations locations;
    if (settings.file().empty()) return locations;
    Settings scratch(settings.schema());
    apply_geometry(read_text_file(settings.file()), settings.file(), scratch, locations);
    return locations;
}

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

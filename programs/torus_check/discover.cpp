// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/discover.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "config/network.h"
#include "routing/missing_cables.h"

namespace torusmp::check {

namespace {

using routing::Cable;
using routing::CableEnd;
using routing::Direction;
using routing::Recognized;

using EndKey = std::pair<int, std::string>;  // host and device

std::string quote_toml(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

// ---- Cables ----

class CableMap {
  public:
    CableMap(const std::vector<HostResult>& results,
             const std::function<bool(const std::string&)>& wanted) {
        for (std::size_t node = 0; node < results.size(); ++node)
            for (const Heard& heard : results[node].report.heard)
                if (wanted(heard.device) && wanted(heard.from)) {
                    far_[{int(node), heard.device}].insert({heard.node, heard.from});
                    far_[{heard.node, heard.from}].insert({int(node), heard.device});
                    arrived_.insert({{heard.node, heard.from}, {int(node), heard.device}});
                }
        for (std::size_t node = 0; node < results.size(); ++node)
            for (const config::Device& device : results[node].facts.devices)
                if (!device.loopback && wanted(device.name) &&
                    !far_.count({int(node), device.name}))
                    idle_.insert({int(node), device.name});
        number_ports();
    }

    // Devices on which nothing is heard, and that nobody hears.
    std::vector<CableEnd> idle() const {
        std::vector<CableEnd> ends;
        for (const EndKey& end : idle_) ends.push_back({end.first, port(end)});
        return ends;
    }

    // Whether anything has arrived over that cable from one end at the other.
    bool arrives(const CableEnd& from, const CableEnd& to) const {
        return arrived_.count({{from.node, device(from.port)}, {to.node, device(to.port)}}) != 0;
    }

    bool knows(int port) const { return port >= 0 && std::size_t(port) < names_.size(); }

    // Ends that hear exactly one far end and are heard by it alone; notes on the others.
    std::vector<Cable> cables(std::vector<std::string>& notes) const {
        std::vector<Cable> found;
        std::map<std::string, int> shared;  // device -> hosts on which it is not on a cable
        for (const auto& [end, far] : far_) {
            const EndKey& other = *far.begin();
            if (far.size() > 1)
                ++shared[end.second];
            else if (far_.at(other).size() == 1 && end < other)
                found.push_back({{end.first, port(end)}, {other.first, port(other)}});
        }
        for (const auto& [device, count] : shared)
            notes.push_back(
                fmt::format("{} of {} host{} hears more than one far end: taken for a "
                            "switched network and left out",
                            device, count, count == 1 ? "" : "s"));
        return found;
    }

    const std::string& device(int port) const { return names_[std::size_t(port)]; }

  private:
    int port(const EndKey& end) const {
        const auto at = std::lower_bound(names_.begin(), names_.end(), end.second);
        return int(at - names_.begin());
    }

    // One number for each device name, the same on all hosts.
    void number_ports() {
        std::set<std::string> names;
        for (const auto& [end, far] : far_) names.insert(end.second);
        for (const EndKey& end : idle_) names.insert(end.second);
        names_.assign(names.begin(), names.end());
    }

    std::map<EndKey, std::set<EndKey>> far_;
    std::set<std::pair<EndKey, EndKey>> arrived_;  // from, at
    std::set<EndKey> idle_;
    std::vector<std::string> names_;
};

// ---- The file ----

// The device that most nodes use in a direction; empty: of none is it known.
std::string usual_device(const Recognized& torus, const CableMap& cable_map, int index) {
    std::map<std::string, int> count;
    for (const auto& ports : torus.ports)
        if (cable_map.knows(ports[std::size_t(index)]))
            ++count[cable_map.device(ports[std::size_t(index)])];
    if (count.empty()) return {};
    return std::max_element(count.begin(), count.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
}

std::string write_links(const Recognized& torus, const CableMap& cable_map,
                        const std::vector<std::string>& hosts) {
    std::string common = "[links]\n";
    std::map<std::string, std::string> own;  // host -> lines of its table
    for (int i = 0; i < 2 * torus.torus.dimensions(); ++i) {
        const Direction direction = Direction::from_index(i);
        if (torus.torus.extent(direction.dimension) == 1) continue;
        const std::string usual = usual_device(torus, cable_map, i);
        const std::string name = quote_toml(config::direction_name(direction));
        if (!usual.empty()) common += fmt::format("{} = {}\n", name, quote_toml(usual));
        for (std::size_t node = 0; node < hosts.size(); ++node) {
            const int port = torus.ports[node][std::size_t(i)];
            if (cable_map.knows(port) && cable_map.device(port) != usual)
                own[hosts[node]] +=
                    fmt::format("{} = {}\n", name, quote_toml(cable_map.device(port)));
        }
    }
    for (const auto& [host, lines] : own)
        common += fmt::format("\n[links.{}]\n{}", quote_toml(host), lines);
    return torus.torus.size() == 1 ? std::string() : common;
}

std::string write_geometry(const Recognized& torus, const CableMap& cable_map,
                           const std::vector<std::string>& hosts, const std::string& agent) {
    std::vector<std::string> periodic, by_rank(hosts.size());
    for (int d = 0; d < torus.torus.dimensions(); ++d)
        periodic.push_back(torus.torus.periodic(d) ? "true" : "false");
    for (std::size_t node = 0; node < hosts.size(); ++node)
        by_rank[std::size_t(torus.rank_of[node])] = quote_toml(hosts[node]);
    std::string out = fmt::format(
        "# Written by torus-check --discover from what was found on the cables.\n[torus]\n"
        "dims = [{}]\nperiodic = [{}]\n\n[nodes]\nhosts = [\n    {}\n]\n\n{}",
        fmt::join(torus.torus.extents(), ", "), fmt::join(periodic, ", "),
        fmt::join(by_rank, ",\n    "), write_links(torus, cable_map, hosts));
    if (!agent.empty()) out += fmt::format("\n[launch]\nagent = {}\n", quote_toml(agent));
    return out;
}

// ---- Holes ----

// The end of a cable as the file has it.
struct Placed {
    const Recognized& torus;
    const CableMap& cable_map;
    const std::vector<std::string>& hosts;
    CableEnd end;

    int index() const {
        const auto& ports = torus.ports[std::size_t(end.node)];
        return int(std::find(ports.begin(), ports.end(), end.port) - ports.begin());
    }
    const std::string& host() const { return hosts[std::size_t(end.node)]; }
    // Where nobody knows its device, that of most hosts.
    std::string device() const {
        return cable_map.knows(end.port) ? cable_map.device(end.port)
                                         : usual_device(torus, cable_map, index());
    }
    std::string describe() const {
        return fmt::format("{} {} ({})", host(), device(),
                           config::direction_name(Direction::from_index(index())));
    }
};

// From the end that it leaves upwards, as everywhere.
std::pair<Placed, Placed> ends_of(const Placed& one, const Placed& other) {
    return one.index() % 2 == 0 ? std::pair(one, other) : std::pair(other, one);
}

void find_holes(Discovery& discovery, const CableMap& cable_map,
                const std::vector<std::string>& hosts, const std::vector<Cable>& cables,
                const std::vector<Cable>& missing) {
    const Recognized& torus = *discovery.torus;
    const auto placed = [&](const CableEnd& end) { return Placed{torus, cable_map, hosts, end}; };
    for (const Cable& cable : missing) {
        const auto [a, b] = ends_of(placed(cable.a), placed(cable.b));
        discovery.holes.push_back(
            fmt::format("the cable from {} to {} is missing or dead: nothing is heard at either "
                        "end; the file has it all the same",
                        a.describe(), b.describe()));
    }
    for (const Cable& cable : cables) {
        const bool there = cable_map.arrives(cable.a, cable.b);
        if (there && cable_map.arrives(cable.b, cable.a)) continue;
        const auto [a, b] = ends_of(placed(cable.a), placed(cable.b));
        const Placed deaf = placed(there ? cable.a : cable.b);
        discovery.holes.push_back(
            fmt::format("the cable from {} to {} answers at one end only: nothing arrives at {}; "
                        "the file has it all the same",
                        a.describe(), b.describe(), deaf.host()));
    }
}

}  // namespace

Discovery discover(const std::vector<std::string>& hosts, const std::vector<HostResult>& results,
                   const std::function<bool(const std::string&)>& wanted,
                   const std::string& agent) {
    Discovery discovery;
    const CableMap cable_map(results, wanted);
    const std::vector<Cable> cables = cable_map.cables(discovery.notes);
    discovery.cables = cables.size();
    for (std::size_t node = 0; node < hosts.size(); ++node)
        if (!results[node].trouble.empty())
            discovery.reason =
                fmt::format("{} could not be asked: {}", hosts[node], results[node].trouble);
    if (!discovery.reason.empty()) return discovery;
    routing::Completion completion = routing::complete_torus(hosts, cables, cable_map.idle());
    discovery.reason = completion.torus.reason;
    discovery.torus = std::move(completion.torus.found);
    if (!discovery.torus) return discovery;
    find_holes(discovery, cable_map, hosts, cables, completion.missing);
    discovery.geometry = write_geometry(*discovery.torus, cable_map, hosts, agent);
    return discovery;
}

}  // namespace torusmp::check

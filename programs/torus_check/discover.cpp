// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/discover.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.h"
#include "config/network.h"
#include "routing/missing_cables.h"

namespace torusmp::torus_check {

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

    // Devices that hear no other device and that no other device hears.
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

// The devices of the links as the file names them.
struct Devices {
    using OfLinks = std::array<std::string, 2 * routing::max_dimensions>;  // by Direction::index()
    OfLinks common;                // [links]; empty: each host names its own
    std::vector<OfLinks> of_node;  // empty without such a link, or if its device is unknown
};

// Whether some node has links in both directions, so that they cannot have one device.
bool meet(const Recognized& torus, std::size_t a, std::size_t b) {
    return std::any_of(torus.ports.begin(), torus.ports.end(), [&](const auto& ports) {
        return ports[a] != Recognized::no_port && ports[b] != Recognized::no_port;
    });
}

// The device that most nodes use in a direction, unless a direction with more such nodes has it:
// ports that are plugged at random agree on neither.
Devices::OfLinks common_devices(const Recognized& torus, const CableMap& cable_map) {
    std::map<std::pair<std::size_t, std::string>, int> count;
    for (const auto& ports : torus.ports)
        for (std::size_t i = 0; i < ports.size(); ++i)
            if (cable_map.knows(ports[i])) ++count[{i, cable_map.device(ports[i])}];
    std::vector<std::pair<std::pair<std::size_t, std::string>, int>> ranked(count.begin(),
                                                                            count.end());
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    Devices::OfLinks common;
    for (const auto& [use, nodes] : ranked) {
        const auto& [direction, device] = use;
        bool taken = !common[direction].empty();
        for (std::size_t other = 0; other < common.size(); ++other)
            taken = taken || (common[other] == device && meet(torus, direction, other));
        if (!taken) common[direction] = device;
    }
    return common;
}

// A link whose device is unknown gets the common one, or one that is free on its node.
std::string guess_device(const Devices::OfLinks& known, const std::string& common,
                         const CableMap& cable_map) {
    const auto is_free = [&](const std::string& device) {
        return std::find(known.begin(), known.end(), device) == known.end();
    };
    if (!common.empty() && is_free(common)) return common;
    for (int port = 0; cable_map.knows(port); ++port)
        if (is_free(cable_map.device(port))) return cable_map.device(port);
    return {};
}

Devices name_devices(const Recognized& torus, const CableMap& cable_map) {
    Devices devices{common_devices(torus, cable_map), {}};
    for (const auto& ports : torus.ports) {
        Devices::OfLinks own;
        for (std::size_t i = 0; i < ports.size(); ++i)
            if (cable_map.knows(ports[i])) own[i] = cable_map.device(ports[i]);
        for (std::size_t i = 0; i < ports.size(); ++i)
            if (ports[i] != Recognized::no_port && own[i].empty())
                own[i] = guess_device(own, devices.common[i], cable_map);
        devices.of_node.push_back(own);
    }
    return devices;
}

std::string write_links(const Recognized& torus, const Devices& devices,
                        const std::vector<std::string>& hosts) {
    std::string common = "[links]\n";
    std::map<std::string, std::string> own;  // host -> lines of its table
    for (std::size_t i = 0; i < devices.common.size(); ++i) {
        const std::string name = quote_toml(config::direction_name(Direction::from_index(int(i))));
        const std::string& usual = devices.common[i];
        if (!usual.empty()) common += fmt::format("{} = {}\n", name, quote_toml(usual));
        for (std::size_t node = 0; node < hosts.size(); ++node)
            if (const std::string& device = devices.of_node[node][i];
                !device.empty() && device != usual)
                own[hosts[node]] += fmt::format("{} = {}\n", name, quote_toml(device));
    }
    for (const auto& [host, lines] : own)
        common += fmt::format("\n[links.{}]\n{}", quote_toml(host), lines);
    return torus.torus.size() == 1 ? std::string() : common;
}

std::string write_geometry(const Recognized& torus, const Devices& devices,
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
        fmt::join(by_rank, ",\n    "), write_links(torus, devices, hosts));
    if (!agent.empty()) out += fmt::format("\n[launch]\nagent = {}\n", quote_toml(agent));
    return out;
}

// ---- Holes ----

// The end of a cable as the file has it.
struct Placed {
    const Recognized& torus;
    const Devices& devices;
    const std::vector<std::string>& hosts;
    CableEnd end;

    int index() const {
        const auto& ports = torus.ports[std::size_t(end.node)];
        return int(std::find(ports.begin(), ports.end(), end.port) - ports.begin());
    }
    const std::string& host() const { return hosts[std::size_t(end.node)]; }
    const std::string& device() const {
        return devices.of_node[std::size_t(end.node)][std::size_t(index())];
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

void find_holes(Discovery& discovery, const CableMap& cable_map, const Devices& devices,
                const std::vector<std::string>& hosts, const std::vector<Cable>& cables,
                const std::vector<Cable>& missing) {
    const Recognized& torus = *discovery.torus;
    const auto placed = [&](const CableEnd& end) { return Placed{torus, devices, hosts, end}; };
    for (const Cable& cable : missing) {
        const auto [a, b] = ends_of(placed(cable.a), placed(cable.b));
        discovery.holes.push_back(
            fmt::format("the cable from {} to {} is missing or dead: nothing is heard at either "
                        "end; the file contains it anyway",
                        a.describe(), b.describe()));
    }
    for (const Cable& cable : cables) {
        const bool there = cable_map.arrives(cable.a, cable.b);
        if (there && cable_map.arrives(cable.b, cable.a)) continue;
        const auto [a, b] = ends_of(placed(cable.a), placed(cable.b));
        const Placed deaf = placed(there ? cable.a : cable.b);
        discovery.holes.push_back(
            fmt::format("the cable from {} to {} answers at one end only: nothing arrives at {}; "
                        "the file contains it anyway",
                        a.describe(), b.describe(), deaf.host()));
    }
}

// ---- Why the cables do not form a torus ----

// Agents name the host in what they print, so hosts fail alike if the rest is equal.
std::string cannot_ask(const std::vector<std::string>& hosts,
                       const std::vector<HostResult>& results, const std::string& agent) {
    std::vector<std::pair<std::string, std::vector<std::size_t>>> alike;
    for (std::size_t node = 0; node < hosts.size(); ++node) {
        std::string cause = results[node].trouble;
        for (std::size_t at = 0; (at = cause.find(hosts[node], at)) != std::string::npos;)
            cause.erase(at, hosts[node].size());
        if (results[node].trouble.empty()) continue;
        const auto same = std::find_if(alike.begin(), alike.end(),
                                       [&](const auto& group) { return group.first == cause; });
        if (same != alike.end())
            same->second.push_back(node);
        else
            alike.push_back({cause, {node}});
    }
    std::vector<std::string> groups;
    for (const auto& [cause, nodes] : alike) {
        std::vector<std::string> names;
        for (const std::size_t node : nodes) names.push_back(hosts[node]);
        const bool all = nodes.size() == hosts.size() && nodes.size() > 1;
        groups.push_back(fmt::format(
            "{} could {}be asked{} {}",
            all ? fmt::format("none of the {} hosts", hosts.size()) : base::listed(names),
            all ? "" : "not ", nodes.size() > 1 ? fmt::format("; {}:", names.front()) : ":",
            results[nodes.front()].trouble));
        if (all && agent.empty())
            groups.back() +=
                fmt::format(". ssh must reach each host without a password: try \"ssh {} true\"",
                            names.front());
    }
    return fmt::format("{}", fmt::join(groups, "; "));
}

// Names the devices that are down, as all are on a fresh host.
std::string devices_down(const std::vector<std::string>& hosts,
                         const std::vector<HostResult>& results,
                         const std::function<bool(const std::string&)>& wanted) {
    std::map<std::vector<std::string>, std::vector<std::string>> alike;  // devices -> hosts
    for (std::size_t node = 0; node < hosts.size(); ++node) {
        std::vector<std::string> down;
        for (const config::Device& device : results[node].facts.devices)
            if (!device.loopback && !device.up && wanted(device.name)) down.push_back(device.name);
        if (!down.empty()) alike[down].push_back(hosts[node]);
    }
    std::vector<std::string> groups;
    for (const auto& [devices, names] : alike) {
        std::vector<std::string> commands;
        for (const std::string& device : devices)
            commands.push_back("sudo ip link set " + device + " up");
        groups.push_back(fmt::format("{} {} down on {}: run \"{}\" there", base::listed(devices),
                                     devices.size() == 1 ? "is" : "are", base::listed(names),
                                     fmt::join(commands, "; ")));
    }
    return fmt::format("{}", fmt::join(groups, "; "));
}

// ---- More cables than a torus has ----

// A torus of some of the cables.
struct Part {
    Recognized torus;
    std::vector<Cable> used, left_out;
};

// Parallel cables count once; where every host is joined to every other (a full mesh), the ring in
// the order of the hosts remains.
std::optional<Part> use_fewer(const std::vector<std::string>& hosts,
                              const std::vector<Cable>& cables) {
    const int size = int(hosts.size());
    if (size < 3) return std::nullopt;  // one of the cables may lead through another network
    std::map<std::pair<int, int>, Cable> one;
    for (const Cable& cable : cables) one.insert({std::minmax(cable.a.node, cable.b.node), cable});
    const auto recognized = [&](const auto& keep) -> std::optional<Part> {
        std::vector<Cable> used, left_out;
        for (const Cable& cable : cables) {
            const auto ends = std::pair(std::minmax(cable.a.node, cable.b.node));
            const Cable& first = one.at(ends);
            const bool is_first = cable.a == first.a && cable.b == first.b;
            (is_first && keep(ends.first, ends.second) ? used : left_out).push_back(cable);
        }
        auto torus = routing::recognize_torus(hosts, used).found;
        if (!torus) return std::nullopt;
        return Part{std::move(*torus), std::move(used), std::move(left_out)};
    };
    if (one.size() < cables.size())
        if (auto part = recognized([](int, int) { return true; })) return part;
    if (int(one.size()) != size * (size - 1) / 2) return std::nullopt;
    return recognized([&](int a, int b) { return b == a + 1 || (a == 0 && b == size - 1); });
}

std::string describe_part(const Part& part, const CableMap& cable_map,
                          const std::vector<std::string>& hosts, const std::string& reason) {
    const auto end = [&](const CableEnd& it) {
        return hosts[std::size_t(it.node)] + " " + cable_map.device(it.port);
    };
    std::vector<std::string> left_out;
    for (const Cable& cable : part.left_out)
        left_out.push_back(fmt::format("{} - {}", end(cable.a), end(cable.b)));
    return fmt::format(
        "the {} cables found between {} hosts make no torus ({}); {} of them make a "
        "torus of {}, which the file describes. Left out: {}",
        part.used.size() + part.left_out.size(), hosts.size(), reason, part.used.size(),
        part.torus.torus.describe(), base::listed(left_out));
}

}  // namespace

Discovery discover(const std::vector<std::string>& hosts, const std::vector<HostResult>& results,
                   const std::function<bool(const std::string&)>& wanted,
                   const std::string& agent) {
    Discovery discovery;
    const CableMap cable_map(results, wanted);
    std::vector<Cable> cables = cable_map.cables(discovery.notes);
    discovery.cables = cables.size();
    discovery.reason = cannot_ask(hosts, results, agent);
    if (!discovery.reason.empty()) return discovery;
    routing::Completion completion = routing::complete_torus(hosts, cables, cable_map.idle());
    discovery.torus = std::move(completion.torus.found);
    if (!discovery.torus)
        if (auto part = use_fewer(hosts, cables)) {
            discovery.notes.push_back(
                describe_part(*part, cable_map, hosts, completion.torus.reason));
            discovery.torus = std::move(part->torus);
            cables = std::move(part->used);
            discovery.cables = cables.size();
        }
    if (!discovery.torus) {
        const std::string down = devices_down(hosts, results, wanted);
        if (!cables.empty() || down.empty())
            discovery.reason =
                fmt::format("the {} {} found between {} hosts do{} not form a torus: {}",
                            cables.size(), cables.size() == 1 ? "cable" : "cables", hosts.size(),
                            cables.size() == 1 ? "es" : "", completion.torus.reason);
        if (!down.empty())
            discovery.reason += (discovery.reason.empty() ? "no cables were found: " : ". ") + down;
        return discovery;
    }
    const Devices devices = name_devices(*discovery.torus, cable_map);
    find_holes(discovery, cable_map, devices, hosts, cables, completion.missing);
    discovery.geometry = write_geometry(*discovery.torus, devices, hosts, agent);
    return discovery;
}

}  // namespace torusmp::torus_check

// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/discover.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "config/network.h"
#include "programs/torus_check/cable_map.h"
#include "routing/graph_order.h"
#include "routing/missing_cables.h"

namespace torusmp::torus_check {

namespace {

using routing::Cable;
using routing::CableEnd;
using routing::Direction;
using routing::Recognized;

std::string quote_toml(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

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
                           const std::vector<std::string>& hosts) {
    std::vector<std::string> periodic, by_rank(hosts.size());
    for (int d = 0; d < torus.torus.dimensions(); ++d)
        periodic.push_back(torus.torus.periodic(d) ? "true" : "false");
    for (std::size_t node = 0; node < hosts.size(); ++node)
        by_rank[std::size_t(torus.rank_of[node])] = quote_toml(hosts[node]);
    return fmt::format(
        "# Written by torus-check --discover from the cables.\n[torus]\n"
        "dims = [{}]\nperiodic = [{}]\n\n[nodes]\nhosts = [\n    {}\n]\n\n{}",
        fmt::join(torus.torus.extents(), ", "), fmt::join(periodic, ", "),
        fmt::join(by_rank, ",\n    "), write_links(torus, devices, hosts));
}

std::string write_launch(const std::string& agent, bool over_cables) {
    std::string lines;
    if (!agent.empty()) lines += fmt::format("agent = {}\n", quote_toml(agent));
    if (over_cables) lines += "through = \"torus\"\n";
    return lines.empty() ? lines : "\n[launch]\n" + lines;
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

void find_holes(Discovery& discovery, const Recognized& torus, const CableMap& cable_map,
                const Devices& devices, const std::vector<std::string>& hosts,
                const std::vector<Cable>& cables, const std::vector<Cable>& missing) {
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

// Whether at least one end of each missing cable is a device on which nothing is heard, or both
// ends if another cable joins the same hosts. Without such devices, nothing shows that the cable
// ever existed. A device is the end of one cable.
bool are_likely(const std::vector<Cable>& missing, const std::vector<Cable>& cables,
                std::vector<CableEnd> idle) {
    std::vector<int> ends(missing.size(), 0);  // that are idle devices
    const auto take = [&](std::size_t cable, const auto& fits) {
        const auto found = std::find_if(idle.begin(), idle.end(), fits);
        if (found == idle.end()) return;
        idle.erase(found);
        ends[cable] += 1;
    };
    for (std::size_t i = 0; i < missing.size(); ++i)
        for (const CableEnd& end : {missing[i].a, missing[i].b})
            take(i, [&](const CableEnd& device) { return device == end; });
    for (std::size_t i = 0; i < missing.size(); ++i)
        for (const CableEnd& end : {missing[i].a, missing[i].b})
            if (end.port >= routing::unknown_port)
                take(i, [&](const CableEnd& device) { return device.node == end.node; });
    const auto joined = [&](const Cable& one) {
        return std::any_of(cables.begin(), cables.end(), [&](const Cable& other) {
            return std::minmax(one.a.node, one.b.node) == std::minmax(other.a.node, other.b.node);
        });
    };
    for (std::size_t i = 0; i < missing.size(); ++i)
        if (ends[i] < (joined(missing[i]) ? 2 : 1)) return false;
    return true;
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

// ---- Other graphs than tori ----

// The cables of a graph, named for the file and for messages.
class CableGraphFile {
  public:
    CableGraphFile(const std::vector<std::string>& hosts, const CableMap& cable_map,
                   const std::vector<Cable>& cables)
        : hosts_(hosts), cable_map_(cable_map), cables_(cables), place_(hosts.size()) {
        for (const Cable& cable : cables) pairs_.push_back({cable.a.node, cable.b.node});
    }

    // Why the file cannot describe it; empty if it can.
    std::string reason() const {
        std::vector<int> count(hosts_.size());
        for (const auto& [a, b] : pairs_) ++count[std::size_t(a)], ++count[std::size_t(b)];
        for (std::size_t node = 0; node < hosts_.size(); ++node)
            if (count[node] > 2 * routing::max_dimensions)
                return fmt::format(
                    "{} has {} cables: expected at most {}. Choose some with --devices",
                    hosts_[node], count[node], 2 * routing::max_dimensions);
        const std::vector<std::vector<std::string>> parts = connected_parts();
        if (parts.size() == 1) return {};
        std::vector<std::string> texts;
        for (std::vector<std::string> part : parts) texts.push_back(base::listed(std::move(part)));
        return fmt::format("no cable was found between these {} parts: {}", parts.size(),
                           fmt::join(texts, "; "));
    }

    bool joins_all() const { return connected_parts().size() == 1; }
    std::string shape() const { return fmt::format("graph of {} hosts", hosts_.size()); }

    std::string write() {
        const std::vector<int> order = routing::nearby_order(int(hosts_.size()), pairs_);
        std::vector<std::string> by_rank, lines;
        for (std::size_t rank = 0; rank < order.size(); ++rank) {
            place_[std::size_t(order[rank])] = int(rank);
            by_rank.push_back(quote_toml(hosts_[std::size_t(order[rank])]));
        }
        std::vector<Cable> sorted = cables_;
        for (Cable& cable : sorted)
            if (place(cable.a) > place(cable.b)) std::swap(cable.a, cable.b);
        std::stable_sort(sorted.begin(), sorted.end(), [&](const Cable& a, const Cable& b) {
            return std::pair(place(a.a), place(a.b)) < std::pair(place(b.a), place(b.b));
        });
        for (const Cable& cable : sorted)
            lines.push_back(quote_toml(fmt::format("{} - {}", end(cable.a), end(cable.b))));
        return fmt::format(
            "# Written by torus-check --discover from the cables, which do not form a "
            "torus.\n[torus]\ncables = [\n    {}\n]\n\n[nodes]\nhosts = [\n    {}\n]\n",
            fmt::join(lines, ",\n    "), fmt::join(by_rank, ",\n    "));
    }

    void find_holes(Discovery& discovery) const {
        for (const Cable& cable : cables_) {
            const bool there = cable_map_.arrives(cable.a, cable.b);
            if (there && cable_map_.arrives(cable.b, cable.a)) continue;
            discovery.holes.push_back(fmt::format(
                "the cable from {} to {} answers at one end only: nothing arrives at {}; the file "
                "contains it anyway",
                end(cable.a), end(cable.b), host(there ? cable.a : cable.b)));
        }
    }

  private:
    const std::string& host(const CableEnd& it) const { return hosts_[std::size_t(it.node)]; }
    std::string end(const CableEnd& it) const {
        return host(it) + " " + cable_map_.device(it.port);
    }
    int place(const CableEnd& it) const { return place_[std::size_t(it.node)]; }

    std::vector<std::vector<std::string>> connected_parts() const {
        std::vector<int> part(hosts_.size());
        for (std::size_t node = 0; node < part.size(); ++node) part[node] = int(node);
        for (bool more = true; std::exchange(more, false);)
            for (const auto& [a, b] : pairs_) {
                const int lower = std::min(part[std::size_t(a)], part[std::size_t(b)]);
                for (int* const each : {&part[std::size_t(a)], &part[std::size_t(b)]})
                    if (std::exchange(*each, lower) != lower) more = true;
            }
        std::map<int, std::vector<std::string>> parts;
        for (std::size_t node = 0; node < part.size(); ++node)
            parts[part[node]].push_back(hosts_[node]);
        std::vector<std::vector<std::string>> all;
        for (auto& [number, names] : parts) all.push_back(std::move(names));
        return all;
    }

    const std::vector<std::string>& hosts_;
    const CableMap& cable_map_;
    const std::vector<Cable>& cables_;
    std::vector<std::pair<int, int>> pairs_;
    std::vector<int> place_;  // by node: its rank
};

}  // namespace

Discovery discover(const std::vector<std::string>& hosts, const std::vector<HostResult>& results,
                   const std::function<bool(const std::string&)>& wanted, const std::string& agent,
                   bool chosen, bool over_cables) {
    Discovery discovery;
    const CableMap cable_map(results, wanted);
    std::vector<Cable> cables = cable_map.cables(discovery.notes);
    discovery.cables = cables.size();
    discovery.reason = cannot_ask(hosts, results, agent);
    if (!discovery.reason.empty()) return discovery;
    CableGraphFile graph(hosts, cable_map, cables);
    const std::vector<CableEnd> idle = cable_map.idle();
    routing::Completion completion = routing::complete_torus(hosts, cables, idle);
    // A torus whose missing cables leave hosts alone is no use: jobs need them all.
    if (!are_likely(completion.missing, cables, idle) || !graph.joins_all())
        completion = {routing::recognize_torus(hosts, cables), {}};
    discovery.torus = std::move(completion.torus.found);
    if (const auto& torus = discovery.torus) {
        const Devices devices = name_devices(*torus, cable_map);
        find_holes(discovery, *torus, cable_map, devices, hosts, cables, completion.missing);
        discovery.shape = "torus of " + torus->torus.describe();
        discovery.geometry =
            write_geometry(*torus, devices, hosts) + write_launch(agent, over_cables);
        return discovery;
    }
    const std::string down = devices_down(hosts, results, wanted);
    if (cables.empty())
        discovery.reason = down.empty() ? "no cables were found" : "no cables were found: " + down;
    else if (hosts.size() == 2 && !chosen)
        discovery.reason = fmt::format(
            "{} cables join {} and {}, and one of them may be another network: name the devices of "
            "the cables with --devices",
            cables.size(), hosts[0], hosts[1]);
    else if (const std::string reason = graph.reason(); !reason.empty())
        discovery.reason = fmt::format("{}{}{}", reason, down.empty() ? "" : ". ", down);
    if (!discovery.reason.empty()) return discovery;
    discovery.notes.push_back(
        fmt::format("the {} cables do not form a torus ({}): the file lists each of them, and all "
                    "are used",
                    cables.size(), completion.torus.reason));
    graph.find_holes(discovery);
    discovery.shape = graph.shape();
    discovery.geometry = graph.write() + write_launch(agent, over_cables);
    return discovery;
}

}  // namespace torusmp::torus_check

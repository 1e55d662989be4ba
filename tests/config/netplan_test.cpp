// SPDX-License-Identifier: BSD-3-Clause
// The address plan: printed routes, followed from every node to every other.
#include "base/json.h"
#include "config/netplan.h"
#include "base/address.h"
#include "config/geometry.h"
#include "core/transport/list.h"
#include "core/transport/machine.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "config/load.h"
#include "job/settings.h"
#include "routing/pair_path.h"
#include "routing/torus.h"
#include "tests/config/temporary.h"

using namespace torusmp::config;
namespace base = torusmp::base;
namespace transport = torusmp::transport;
using torusmp::job::schema;
using torusmp::routing::Torus;

namespace {

Settings settings_for(const std::string& dims, const std::string& periodic) {
    std::string links;
    const Torus torus(torusmp::routing::parse_dims(dims));
    for (int d = 0; d < torus.dimensions(); ++d)
        if (torus.extent(d) > 1)
            for (const char sign : {'+', '-'})
                links += (links.empty() ? "" : ",") + std::to_string(d) + sign + "=" +
                         (sign == '+' ? "up" : "down") + std::to_string(d);
    LoadRequest request{{{"torus.dims", dims}}, {}};
    if (!links.empty()) request.flags.push_back({"links", links});
    if (!periodic.empty()) request.flags.push_back({"torus.periodic", periodic});
    return load(schema(), request, std::vector<std::string>{});
}

// A printed plan, parsed without the code that made it.
struct Reading {
    std::string own;                            // "10.255.0.1"
    std::map<std::string, std::string> device;  // address of a link -> its device
    std::map<std::string, std::string> route;   // destination -> next address
    std::map<std::string, std::string> by;      // destination -> device
};

std::string without_prefix(const std::string& text) {
    return text.substr(0, text.find('/'));
}

Reading read_ip_batch(const std::string& text) {
    Reading reading;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream in(line);
        std::vector<std::string> words;
        for (std::string word; in >> word;) words.push_back(word);
        if (words.empty() || words[0] == "#" || words[0] == "link") continue;
        REQUIRE(words[1] == "replace");
        if (words[0] == "addr") {
            if (words[4] == "lo") {
                CHECK(words.back() == "lo:torus");
                reading.own = without_prefix(words[2]);
            } else {
                REQUIRE(words.size() == 5);
                reading.device[without_prefix(words[2])] = words[4];
            }
        } else {
            REQUIRE(words[0] == "route");
            REQUIRE(words.size() == 9);
            reading.route[without_prefix(words[2])] = words[4];
            reading.by[without_prefix(words[2])] = words[6];
            CHECK(words[8] == reading.own);
        }
    }
    return reading;
}

Reading read_networkd(const std::vector<PlannedFile>& files) {
    Reading reading;
    for (const PlannedFile& file : files) {
        if (file.path.find(".network") == std::string::npos) continue;
        CHECK(file.path < "/etc/systemd/network/10");  // the first that matches counts
        std::istringstream lines(file.text);
        std::string name, destination;
        for (std::string line; std::getline(lines, line);) {
            const std::string key = line.substr(0, line.find('='));
            const std::string value = without_prefix(line.substr(line.find('=') + 1));
            if (key == "Name") name = value;
            if (key == "Address" && name == "lo") reading.own = value;
            if (key == "Address" && name != "lo") reading.device[value] = name;
            if (key == "Destination") destination = value;
            if (key == "Gateway") reading.route[destination] = value;
            if (key == "Gateway") reading.by[destination] = name;
        }
    }
    return reading;
}

Reading read_ifupdown(const std::vector<PlannedFile>& files) {
    std::string batches, stanzas;
    for (const PlannedFile& file : files)
        if (file.path.ends_with(".ip")) batches += file.text;
    for (const PlannedFile& file : files)
        if (file.path.ends_with("/torus")) stanzas = file.text;
    for (const PlannedFile& file : files)
        if (file.path.ends_with(".ip"))
            CHECK(stanzas.find("    up ip -batch " + file.path + "\n") != std::string::npos);
    return read_ip_batch(batches);
}

Reading read_netplan(const std::vector<PlannedFile>& files) {
    const std::regex device("^    (\\w+):$"), address("addresses: \\[([0-9.]+)/"),
        own("- ([0-9.]+)/32: \\{label: \"lo:torus\"\\}"),
        route("to: ([0-9.]+)/32, via: ([0-9.]+), from: ([0-9.]+)");
    Reading reading;
    std::istringstream lines(files.front().text);
    std::string name;
    std::smatch found;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_search(line, found, device)) name = found[1];
        if (std::regex_search(line, found, own)) {
            CHECK(name == "lo");
            reading.own = found[1];
        }
        if (std::regex_search(line, found, address)) reading.device[found[1]] = name;
        if (!std::regex_search(line, found, route)) continue;
        reading.route[found[1]] = found[2];
        reading.by[found[1]] = name;
        CHECK(found[3] == reading.own);
    }
    return reading;
}

Reading read_keyfiles(const std::vector<PlannedFile>& files) {
    const std::regex address("^address[12]=(?!127)([0-9.]+)/"),
        route("^route\\d+=([0-9.]+)/32,([0-9.]+)$");
    Reading reading;
    for (const PlannedFile& file : files) {
        if (!file.path.ends_with(".nmconnection")) continue;
        CHECK(file.mode == 0600);  // NetworkManager ignores others
        std::istringstream lines(file.text);
        std::string name;
        std::smatch found;
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("interface-name=")) name = line.substr(15);
            if (std::regex_search(line, found, address)) {
                if (name == "lo")
                    reading.own = found[1];
                else if (found[1] != reading.own)
                    reading.device[found[1]] = name;
            }
            if (!std::regex_search(line, found, route)) continue;
            reading.route[found[1]] = found[2];
            reading.by[found[1]] = name;
            // The source of the route, which lo may get later.
            CHECK(file.text.find("address2=" + reading.own + "/32\n") != std::string::npos);
        }
    }
    return reading;
}

// Every pair: each hop leaves by a device of the node, arrives at the node that has the next
// address, is the hop that SDF takes, and the last one arrives.
void walk_all(const Torus& torus, const std::vector<Reading>& nodes) {
    std::map<std::string, int> owner;  // link address -> node
    for (int node = 0; node < torus.size(); ++node)
        for (const auto& [address, device] : nodes[std::size_t(node)].device)
            CHECK(owner.emplace(address, node).second);
    for (int from = 0; from < torus.size(); ++from)
        for (int to = 0; to < torus.size(); ++to) {
            const std::string& target = nodes[std::size_t(to)].own;
            int at = from, hops = 0;
            while (at != to) {
                const Reading& here = nodes[std::size_t(at)];
                const auto next = here.route.find(target);
                REQUIRE(next != here.route.end());
                const auto expected = torus.next_hop(at, to);
                const auto sign = expected->direction.sign > 0 ? "up" : "down";
                REQUIRE(here.by.at(target) == sign + std::to_string(expected->direction.dimension));
                REQUIRE(owner.count(next->second));
                at = owner.at(next->second);
                REQUIRE(at == expected->rank);
                REQUIRE(++hops <= torus.distance(from, to));
            }
        }
}

}  // namespace

TEST_CASE("Printed routes lead between all nodes along SDF hops without a loop") {
    const std::vector<std::pair<std::string, std::string>> machines = {
        {"2", ""},       {"5", ""},      {"6", "false"},        {"2x2x2", ""},
        {"4x3x2", ""},   {"3x3x3", ""},  {"4x4", "false,true"}, {"2x3x2", "false,false,false"},
        {"1x4x1x3", ""}, {"2x2x2x2", ""}};
    for (const auto& [dims, periodic] : machines) {
        CAPTURE(dims, periodic);
        const Settings settings = settings_for(dims, periodic);
        const Torus torus = *node_torus(settings);
        std::vector<Reading> batch, networkd, ifupdown, netplan, keyfiles;
        for (int node = 0; node < torus.size(); ++node) {
            const NodePlan plan = plan_node(settings, node);
            batch.push_back(read_ip_batch(as_ip_batch(plan)));
            networkd.push_back(read_networkd(as_networkd(plan)));
            ifupdown.push_back(read_ifupdown(as_ifupdown(plan)));
            netplan.push_back(read_netplan(as_netplan(plan)));
            keyfiles.push_back(read_keyfiles(as_keyfiles(plan)));
        }
        walk_all(torus, batch);
        walk_all(torus, networkd);
        walk_all(torus, ifupdown);
        walk_all(torus, netplan);
        walk_all(torus, keyfiles);
    }
}

// A queue pair lives on one device at each end, so packets between the two must leave by one and
// arrive by the other.
TEST_CASE("Routes to the addresses of links enter and leave every two nodes by the same devices") {
    for (const char* dims : {"2", "5", "2x2x2", "4x3x2", "4x4", "1x4x1x3"}) {
        CAPTURE(dims);
        const Settings settings = settings_for(dims, "");
        const Torus torus = *node_torus(settings);
        std::vector<NodePlan> plans;
        for (int node = 0; node < torus.size(); ++node) plans.push_back(plan_node(settings, node));
        const auto link_of = [&](int node, torusmp::routing::Direction direction) {
            for (const PlannedLink& link : plans[std::size_t(node)].links)
                if (link.direction == direction) return link;
            throw std::logic_error("no such link");
        };
        // The device by which a node sends to an address, and the node there: by its own cable, or
        // by a route.
        const auto step = [&](int node, const base::Address& to) {
            const NodePlan& plan = plans[std::size_t(node)];
            for (const PlannedLink& link : plan.links)
                if (link.peer.bytes == to.bytes)
                    return std::pair(link.device, *torus.neighbour(node, link.direction));
            for (const PlannedRoute& route : plan.routes)
                if (route.to.bytes == to.bytes)
                    for (const PlannedLink& link : plan.links)
                        if (link.device == route.device && link.peer == route.via)
                            return std::pair(link.device, *torus.neighbour(node, link.direction));
            throw std::logic_error(std::string("no way to ").append(to.text()));
        };
        for (int from = 0; from < torus.size(); ++from)
            for (int to = 0; to < torus.size(); ++to) {
                if (from == to) continue;
                const auto out = link_of(from, pair_direction(torus, from, to));
                const auto in = link_of(to, pair_direction(torus, to, from));
                REQUIRE(step(from, in.own).first == out.device);
                int at = from, before = from, hops = 0;
                while (at != to) {
                    before = at;
                    at = step(at, in.own).second;
                    REQUIRE(++hops <= torus.distance(from, to));
                }
                REQUIRE(before == *torus.neighbour(to, in.direction));
                REQUIRE(step(before, in.own).first ==
                        link_of(before, in.direction.opposite()).device);
            }
    }
    Settings settings = settings_for("4x3x2", "");
    settings.set(transport::setting::use, "tcp");  // which asks for no device
    NetplanOptions options = default_netplan();
    options.to_links = transport::reaches_link_addresses(settings);
    CHECK(plan_node(settings, 0, options).routes.size() == 23);
}

TEST_CASE(
    "The two ends of a cable get two addresses of one network, and no address is given twice") {
    for (const char* dims : {"2", "2x2x2", "4x3x2", "1x5", "2x1x2"}) {
        CAPTURE(dims);
        const Settings settings = settings_for(dims, "");
        const Torus torus = *node_torus(settings);
        std::set<std::string> seen;
        for (int node = 0; node < torus.size(); ++node) {
            const NodePlan plan = plan_node(settings, node);
            CHECK(seen.insert(plan.address.text()).second);
            for (const PlannedLink& link : plan.links) {
                CHECK(seen.insert(link.own.text()).second);
                const NodePlan other = plan_node(settings, *torus.neighbour(node, link.direction));
                for (const PlannedLink& end : other.links)
                    if (end.direction == link.direction.opposite()) {
                        CHECK(end.own == link.peer);
                        CHECK(end.peer == link.own);
                        CHECK(end.own.same_network(link.own));
                    }
            }
        }
    }
}

TEST_CASE("check_machine finds no fault in a planned machine") {
    Settings settings = settings_for("3x2", "");
    settings.set(setting::forward, Forward::kernel);
    settings.set(setting::hosts, {{"a", "b", "c", "d", "e", "f"}, ""});
    std::vector<HostFacts> hosts(6);
    for (int node = 0; node < 6; ++node) {
        const NodePlan plan = plan_node(settings, node);
        HostFacts& facts = hosts[std::size_t(node)];
        facts.routes_known = true;
        Device lo;
        lo.name = "lo";
        lo.loopback = true;
        lo.addresses = {plan.address};
        facts.devices = {lo};
        for (const PlannedLink& link : plan.links) {
            Device device;
            device.name = link.device;
            device.up = device.carrier = true;
            device.mtu = 9000;
            device.addresses = {link.own};
            facts.devices.push_back(device);
        }
        for (const PlannedRoute& route : plan.routes)
            facts.routes.push_back({route.to, route.device, route.via});
    }
    CHECK(transport::check_machine(settings, hosts).empty());
    const base::Address far = *hosts[1].node_address();  // two steps away
    CHECK(std::erase_if(hosts[4].routes,
                        [&](const RouteFact& route) { return route.to.bytes == far.bytes; }) == 1);
    CHECK(transport::check_machine(settings, hosts).size() == 1);
}

TEST_CASE("Hostfiles of other launchers lead along the cables") {
    const auto plans_of = [](const char* dims, const char* periodic) {
        Settings settings = settings_for(dims, periodic);
        const int size = node_torus(settings)->size();
        std::vector<std::string> hosts;
        for (int node = 0; node < size; ++node) hosts.push_back(fmt::format("h{}", node));
        settings.set(setting::hosts, {hosts, ""});
        std::vector<NodePlan> plans;
        for (int node = 0; node < size; ++node) plans.push_back(plan_node(settings, node));
        return plans;
    };
    // Host, and where it listens: at its end of a cable from the host before it, but for the first.
    const auto ring_of = [](const std::vector<NodePlan>& plans) {
        const base::Json json = base::parse_json(as_mlx(plans));
        CHECK(json.find("backend")->text == "ring");
        std::vector<std::pair<std::string, std::string>> ring;
        for (const base::Json& host : json.find("hosts")->items)
            ring.emplace_back(host.find("ssh")->text, host.find("ips")->items.at(0).text);
        return ring;
    };
    for (const auto& [dims, periodic] : std::vector<std::pair<const char*, const char*>>{
             {"4", ""}, {"2", ""}, {"5", "false"}, {"2x3", ""}, {"3x3", ""}, {"4x4", ""},
             {"3x3", "false,false"}, {"2x2x2", ""}, {"4x3x2", ""}}) {
        CAPTURE(dims, periodic);
        const auto plans = plans_of(dims, periodic);
        const auto ring = ring_of(plans);
        REQUIRE(ring.size() == plans.size());
        std::set<std::string> names;
        int cables = 0;
        for (std::size_t i = 0; i < ring.size(); ++i) {
            CHECK(names.insert(ring[i].first).second);
            const std::string& before = ring[(i + ring.size() - 1) % ring.size()].first;
            const NodePlan& plan = plans[std::size_t(std::stoi(ring[i].first.substr(1)))];
            bool cable = false;
            for (const PlannedLink& link : plan.links)
                cable = cable || (link.own.text() == ring[i].second &&
                                  fmt::format("h{}", link.neighbour) == before);
            cables += cable;
            if (!cable) CHECK(ring[i].second == plan.address.text());
        }
        CHECK(cables >= int(ring.size()) - 1);
    }
    CHECK(ring_of(plans_of("4", "")) == std::vector<std::pair<std::string, std::string>>{
                                            {"h0", "10.0.0.14"},
                                            {"h1", "10.0.0.2"},
                                            {"h2", "10.0.0.6"},
                                            {"h3", "10.0.0.10"}});
    const std::string torchrun = as_torchrun(plans_of("2", ""));
    CHECK(torchrun ==
          "h0: env GLOO_SOCKET_IFNAME=lo:torus torchrun --nnodes=2 --node-rank=0 "
          "--nproc-per-node=1 --master-addr=10.255.0.1 --master-port=29500\n"
          "h1: env GLOO_SOCKET_IFNAME=lo:torus torchrun --nnodes=2 --node-rank=1 "
          "--nproc-per-node=1 --master-addr=10.255.0.1 --master-port=29500\n");
    CHECK_THROWS_AS(as_mlx({plan_node(settings_for("2", ""), 0)}), ConfigError);
}

TEST_CASE("The hosts file gets the names of all nodes once, and keeps its other lines") {
    Settings settings = settings_for("2x2", "");
    settings.set(setting::hosts, {{"a", "b", "c", "d"}, ""});
    const auto block_of = [&](const NetplanOptions& options) {
        std::vector<NodePlan> plans;
        for (int node = 0; node < 4; ++node) plans.push_back(plan_node(settings, node, options));
        return as_hosts(plans);
    };
    const std::string block = block_of(default_netplan());
    const std::string own = "127.0.0.1 localhost";
    for (int node = 0; node < 4; ++node)
        CHECK(block.find(fmt::format("\n{} {}\n", plan_node(settings, node).address.text(),
                                     "abcd"[node])) != std::string::npos);
    CHECK(with_hosts("", block) == block);
    CHECK(with_hosts(own, block) == own + "\n" + block);
    // Again, with other addresses, and with lines behind it.
    NetplanOptions moved = default_netplan();
    moved.nodes = *base::parse_address("10.200.0.0/16");
    const std::string other = block_of(moved);
    CHECK(other != block);
    CHECK(with_hosts(own + "\n" + block + "::1 more\n", other) ==
          own + "\n" + other + "::1 more\n");
    // A block that was cut short is refused, not guessed.
    CHECK_THROWS_AS(with_hosts(block.substr(0, block.size() - 5), block), ConfigError);
    settings.set(setting::hosts, {});
    CHECK_THROWS_AS(as_hosts({plan_node(settings, 0)}), ConfigError);
}

TEST_CASE("BIRD has a session at both ends of every cable, and replaces the fixed routes") {
    NetplanOptions options = default_netplan();
    options.cables = *base::parse_address("10.64.3.0/16");  // printed without the bits of a host
    options.dynamic = true;
    const Settings settings = settings_for("3x2", "");
    std::set<std::string> sessions;  // "own address, own AS > peer address, peer AS"
    const auto key = [](const auto& own, const auto& own_as, const auto& peer,
                        const auto& peer_as) {
        return fmt::format("{} {} > {} {}", own, own_as, peer, peer_as);
    };
    std::set<std::string> expected;
    for (int node = 0; node < 6; ++node) {
        const NodePlan plan = plan_node(settings, node, options);
        const std::string bird = as_bird(plan), batch = as_ip_batch(plan);
        CHECK(plan.routes.empty());
        CHECK(batch.find("route replace") == std::string::npos);
        CHECK(bird.find("define torus = [ 10.64.0.0/16+, 10.255.0.0/16+ ];") != std::string::npos);
        CHECK(bird.find("router id " + plan.address.text() + ";") != std::string::npos);
        for (const PlannedLink& link : plan.links)
            CHECK(batch.find("route flush root 10.255.0.0/16 dev " + link.device +
                             " proto boot\n") != std::string::npos);
        std::istringstream words(bird);
        std::string own, own_as, word;
        while (words >> word) {
            std::string port, number, as, of;
            if (word != "local" && word != "neighbor") continue;
            words >> of >> port >> number >> port >> as;
            if (word == "local") {
                own = of;
                own_as = as;
            } else {
                CHECK(own_as == std::to_string(4200000000U + unsigned(node)) + ";");
                CHECK(sessions.insert(key(own, own_as, of, as)).second);
                expected.insert(key(of, as, own, own_as));
            }
        }
    }
    CHECK(sessions.size() == 24);  // of 12 cables
    CHECK(sessions == expected);
}

TEST_CASE("A plan without a torus, without devices or without room is refused with the reason") {
    const auto refusal = [](const Settings& settings, const NetplanOptions& options) {
        try {
            plan_node(settings, 0, options);
        } catch (const ConfigError& error) {
            return std::string(error.what());
        }
        return std::string("no refusal");
    };
    using Catch::Matchers::Contains;
    CHECK_THAT(refusal(Settings(schema()), default_netplan()), Contains("missing torus"));
    Settings settings = settings_for("4x4", "");
    Links links = settings[setting::links];
    links.erase("1-");
    settings.set(setting::links, links);
    CHECK_THAT(refusal(settings, default_netplan()), Contains("link 1-") && Contains("no device"));
    settings = settings_for("4x4", "");
    CHECK_THAT(refusal(settings, {*base::parse_address("10.0.0.0/26"),
                                  *base::parse_address("10.255.0.0/16")}),
               Contains("10.0.0.0/26") && Contains("128"));
    CHECK_THAT(refusal(settings, {*base::parse_address("10.0.0.0/25"),
                                  *base::parse_address("10.255.0.0/28")}),
               Contains("10.255.0.0/28") && Contains("one per node"));
    // Otherwise there are routes to link addresses too.
    settings.set(transport::setting::use, "tcp");
    NetplanOptions options{*base::parse_address("10.0.0.0/25"),
                           *base::parse_address("10.9.0.0/27")};
    options.to_links = transport::reaches_link_addresses(settings);
    CHECK(plan_node(settings, 15, options).routes.size() == 15);
}

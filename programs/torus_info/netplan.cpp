// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_info/netplan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include "base/address.h"
#include "base/printing.h"
#include "base/text.h"
#include "base/units.h"
#include "config/geometry.h"
#include "config/netplan.h"
#include "config/options.h"
#include "config/raw.h"
#include "core/transport/list.h"
#include "core/transport/machine.h"
#include "job/settings.h"

namespace po = boost::program_options;

namespace torusmp::config {

namespace {

constexpr const char* examples = R"(
Examples:
  torus-info netplan --config cluster.toml                       every node, for ip -batch
  torus-info netplan --config cluster.toml --node 3 --apply      lay the plan of node 3 here
  torus-info netplan --config cluster.toml --apply               ... of the node that this host is
  torus-info netplan --config cluster.toml --format networkd --output plan
                                                                 files for systemd-networkd, a
                                                                 folder a host
  torus-info netplan --config cluster.toml --format hosts --apply
                                                                 names of all nodes into /etc/hosts
  torus-info netplan --config cluster.toml --forwarding          what is laid here to forward frames
  torus-info netplan --config cluster.toml --forwarding --apply  lay it; --remove takes it off again

Each cable gets a network of four addresses, each node an address of its own on lo, and routes lead
to every node along the paths that the runtime's relay would take. With these,
routing.forward = "kernel" can be set. The plan depends on nothing but the geometry file.
With --forwarding it is about Ethernet frames between ranks that are no neighbours
(routing.forward = "kernel" or "auto"): a program of tc on each link, which this node's kernel
runs. It is gone after a restart of the host: torus-forwarding.service lays it again.
)";

po::options_description make_options() {
    po::options_description options("Options");
    add_common_options(options);
    options.add_options()  //
        ("format", po::value<std::string>()->value_name("ip|networkd|hosts")->default_value("ip"),
         "lines for ip -batch, files for systemd-networkd, or lines for /etc/hosts")  //
        ("node", po::value<std::string>()->value_name("N"),
         "only this node, by number or host name")                                   //
        ("apply", "lay the plan on this host (needs root), instead of printing it")  //
        ("output", po::value<std::string>()->value_name("DIR"),
         "write files below DIR/(host) instead of printing")  //
        ("cables", po::value<std::string>()->value_name("NET")->default_value("10.0.0.0/9"),
         "the IPv4 network of the cables")  //
        ("nodes", po::value<std::string>()->value_name("NET")->default_value("10.255.0.0/16"),
         "the IPv4 network of the nodes' own addresses")                                     //
        ("forwarding", "forward Ethernet frames of ranks, instead of addresses and routes")  //
        ("remove", "with --forwarding: take it off this host (needs root)")                  //
        ("mtu", po::value<std::string>()->value_name("BYTES"), "set the MTU of the links too");
    return options;
}

base::Address network_from(const po::variables_map& given, const char* option) {
    const std::string text = given[option].as<std::string>();
    const auto network = base::parse_address(text);
    if (!network || network->v6 || network->prefix > 30)
        throw UsageError(fmt::format("--{} is \"{}\": expected an IPv4 network like 10.0.0.0/9",
                                     option, base::printable(text)));
    return *network;
}

NetplanOptions netplan_from(const po::variables_map& given) {
    NetplanOptions options{network_from(given, "cables"), network_from(given, "nodes")};
    if (given.count("mtu")) {
        const std::string text = given["mtu"].as<std::string>();
        const auto mtu = base::parse_integer(text);
        if (!mtu || *mtu < 1280 || *mtu > 65535)
            throw UsageError(fmt::format("--mtu is \"{}\": expected 1280 to 65535 bytes",
                                         base::printable(text)));
        options.mtu = int(*mtu);
    }
    return options;
}

int named_node(const Settings& settings, const std::string& word) {
    const auto& hosts = host_names(settings);
    const auto found = std::find(hosts.begin(), hosts.end(), word);
    if (found != hosts.end()) return int(found - hosts.begin());
    const int nodes = node_torus(settings) ? node_torus(settings)->size() : 0;
    const auto number = base::parse_integer(word);
    if (!number || *number < 0 || *number >= nodes)
        throw UsageError(fmt::format("--node is \"{}\": expected 0 to {}, or the name of a host",
                                     base::printable(word), nodes - 1));
    return int(*number);
}

int node_of_this_host(const Settings& settings) {
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) != 0) name[0] = 0;
    if (const auto node = find_node(settings, name)) return *node;
    throw UsageError(fmt::format(
        "this host calls itself \"{}\", which is not in nodes.hosts: say which node it is with "
        "--node",
        base::printable(name)));
}

// ---- Laying it ----

void run_ip(const std::string& batch) {
    std::fflush(stdout);
    std::FILE* ip = ::popen("ip -batch -", "we");
    if (!ip) throw std::runtime_error(fmt::format("cannot start ip: {}", std::strerror(errno)));
    const bool written = std::fwrite(batch.data(), 1, batch.size(), ip) == batch.size();
    const int status = ::pclose(ip);
    if (!written || status != 0)
        throw std::runtime_error(
            "ip -batch refused the plan; what it said stands above (root is needed, and every "
            "device of the plan)");
}

void write_sysctl(const std::string& name, const std::string& value) {
    std::string path = name;
    if (path.find('/') == std::string::npos) std::replace(path.begin(), path.end(), '.', '/');
    path = "/proc/sys/" + path;
    std::ofstream out(path);
    if (!(out << value << std::flush))
        throw std::runtime_error(fmt::format("cannot write {} to {}: root is needed", value, path));
}

void check_devices(const NodePlan& plan) {
    const HostFacts here = this_host();
    for (const PlannedLink& link : plan.links)
        if (!here.find(link.device))
            throw std::runtime_error(
                fmt::format("this host has no device {} for link {} of node {}{}: is it another "
                            "node, or does [links] name it wrongly? nothing was changed",
                            link.device, direction_name(link.direction), plan.node,
                            plan.host.empty() ? "" : fmt::format(" (host {})", plan.host)));
}

void apply(const NodePlan& plan) {
    check_devices(plan);
    run_ip(as_ip_batch(plan));
    for (const auto& [name, value] : planned_sysctls(plan)) write_sysctl(name, value);
    fmt::print("node {}: {} links and {} routes laid\n", plan.node, plan.links.size(),
               plan.routes.size());
}

// ---- Printing it ----

std::string title(const NodePlan& plan) {
    return plan.host.empty() ? fmt::format("node {}", plan.node)
                             : fmt::format("node {}, host {}", plan.node, plan.host);
}

std::vector<PlannedFile> files_of(const NodePlan& plan, bool networkd) {
    if (networkd) return as_networkd(plan);
    return {{"/ip.batch", as_ip_batch(plan)}};
}

void print(const NodePlan& plan, bool networkd) {
    for (const PlannedFile& file : files_of(plan, networkd))
        fmt::print("# {}{}\n{}\n", title(plan), networkd ? ": " + file.path : "", file.text);
}

void write(const NodePlan& plan, bool networkd, const std::filesystem::path& folder) {
    const std::string name = plan.host.empty() ? fmt::format("node{}", plan.node) : plan.host;
    for (const PlannedFile& file : files_of(plan, networkd)) {
        const std::filesystem::path path = folder / name / file.path.substr(1);
        std::filesystem::create_directories(path.parent_path());
        base::write_text_file(path.string(), file.text);
    }
}

// ---- Forwarding of frames ----

int show_forwarding(const Settings& settings, int node) {
    const std::string trouble = transport::forwarding().trouble(settings, node);
    if (trouble.empty()) {
        fmt::print("node {}: frames are forwarded\n", node);
        return exit_ok;
    }
    fmt::print("node {}: frames are not forwarded: {}\n", node, trouble);
    return exit_failure;
}

// Without --apply and --remove: says what is there.
int run_forwarding(const Settings& settings, const po::variables_map& given) {
    for (const char* other : {"output", "cables", "nodes", "mtu", "format"})
        if (given.count(other) && !given[other].defaulted())
            throw UsageError(fmt::format("--forwarding and --{}: expected one of the two", other));
    if (given.count("apply") && given.count("remove"))
        throw UsageError("--apply and --remove: expected one of the two");
    const int node = given.count("node") ? named_node(settings, given["node"].as<std::string>())
                                         : node_of_this_host(settings);
    // Says what is missing where it cannot be planned.
    check_devices(plan_node(settings, node));
    if (given.count("apply")) {
        const auto laid = transport::forwarding().lay(settings, node);
        fmt::print("node {}: frames are forwarded between {} links\n", node, laid.size());
        return exit_ok;
    }
    if (given.count("remove")) {
        const auto removed = transport::forwarding().remove(settings, node);
        fmt::print("node {}: taken off {} links\n", node, removed.size());
        return exit_ok;
    }
    return show_forwarding(settings, node);
}

constexpr const char* hosts_file = "/etc/hosts";

std::string read_file(const char* name) {
    std::ifstream in(name);
    if (!in)
        throw std::runtime_error(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<int> all_nodes(const Settings& settings) {
    std::vector<int> all(node_torus(settings) ? std::size_t(node_torus(settings)->size()) : 1);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

// Every host needs the names of all, so there is one text for the whole machine.
void name_hosts(const Settings& settings, const po::variables_map& given,
                const NetplanOptions& netplan) {
    if (given.count("node"))
        throw UsageError("--node and --format hosts: every host gets the names of all nodes");
    std::vector<NodePlan> plans;
    for (const int node : all_nodes(settings)) plans.push_back(plan_node(settings, node, netplan));
    const std::string block = as_hosts(plans);
    if (given.count("output")) {
        const std::filesystem::path folder = given["output"].as<std::string>();
        std::filesystem::create_directories(folder);
        base::write_text_file((folder / "hosts").string(), block);
    } else if (given.count("apply")) {
        base::write_text_file(hosts_file, with_hosts(read_file(hosts_file), block));
        fmt::print("{} names of nodes written to {}\n", plans.size(), hosts_file);
    } else {
        fmt::print("{}", block);
    }
}

std::vector<int> chosen_nodes(const Settings& settings, const po::variables_map& given) {
    if (given.count("node")) return {named_node(settings, given["node"].as<std::string>())};
    if (given.count("apply")) return {node_of_this_host(settings)};
    return all_nodes(settings);
}

}  // namespace

int run_netplan(int argc, const char* const* argv) {
    const po::options_description options = make_options();
    const po::variables_map given = parse_options(argc, argv, options);
    if (given.count("help")) {
        std::ostringstream text;
        text << options;
        fmt::print(
            "Usage: torus-info netplan [options]\nPlans addresses and routes for every node "
            "of a geometry file, and lays them, or what forwards Ethernet frames.\n\n{}{}",
            text.str(), examples);
        return exit_ok;
    }
    const std::string format = given["format"].as<std::string>();
    if (format != "ip" && format != "networkd" && format != "hosts")
        throw UsageError(fmt::format("--format is \"{}\": expected ip, networkd or hosts",
                                     base::printable(format)));
    if (given.count("apply") && given.count("output"))
        throw UsageError("--apply and --output: expected one of the two");
    if (given.count("remove") && !given.count("forwarding"))
        throw UsageError("--remove: expected with --forwarding");
    const Settings settings = load(job::schema(), request_from(given));
    if (given.count("forwarding")) return run_forwarding(settings, given);
    NetplanOptions netplan = netplan_from(given);
    netplan.to_links = transport::reaches_link_addresses(settings);
    if (format == "hosts") {
        name_hosts(settings, given, netplan);
        return exit_ok;
    }
    for (const int node : chosen_nodes(settings, given)) {
        const NodePlan plan = plan_node(settings, node, netplan);
        if (given.count("apply"))
            apply(plan);
        else if (given.count("output"))
            write(plan, format == "networkd", given["output"].as<std::string>());
        else
            print(plan, format == "networkd");
    }
    return exit_ok;
}

}  // namespace torusmp::config

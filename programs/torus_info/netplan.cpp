// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_info/netplan.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "base/address.h"
#include "base/printing.h"
#include "base/socket_address.h"
#include "base/text.h"
#include "base/units.h"
#include "config/geometry.h"
#include "config/netplan.h"
#include "config/options.h"
#include "config/raw.h"
#include "core/transport/common/monitor.h"
#include "core/transport/list.h"
#include "core/transport/machine.h"
#include "job/settings.h"
#include "programs/torus_info/bird.h"

namespace po = boost::program_options;

namespace torusmp::torus_info {

using namespace config;

namespace {

constexpr const char* examples = R"(
Examples:
  torus-info netplan --config cluster.toml                       print the plan of every node for
                                                                 ip -batch
  torus-info netplan --config cluster.toml --apply               apply the plan of this host
  torus-info netplan --config cluster.toml --node 3 --apply      apply the plan of node 3 here
  torus-info netplan --config cluster.toml --apply --keep        keep running, and apply the plan
                                                                 again when a device comes back
  torus-info netplan --config cluster.toml --apply --keep --routes bird
                                                                 also run BIRD, whose routes lead
                                                                 around dead cables
  torus-info netplan --config cluster.toml --format networkd --output plan
                                                                 write files for systemd-networkd,
                                                                 one folder per host
  torus-info netplan --config cluster.toml --format hosts --apply
                                                                 add all nodes to /etc/hosts
  torus-info netplan --config cluster.toml --format mlx > ring.json
                                                                 write a hostfile of mlx.launch
  torus-info netplan --config cluster.toml --forwarding          print the forwarding of frames that
                                                                 is active on this host
  torus-info netplan --config cluster.toml --forwarding --apply  activate it; --remove deactivates it

Each cable gets a network of four addresses and each node an address on lo. Routes lead to every node
along the paths of the runtime's relay, so routing.forward = "kernel" works. The plan depends only on
the geometry file. With --routes bird the routing daemon BIRD 2 (package bird2) keeps the routes
instead: over all shortest paths, and around dead cables.

With --forwarding, the kernel of this node forwards Ethernet frames between ranks that are not
neighbours (routing.forward = "kernel" or "auto"), by a tc program on each link. A restart of the
host removes it; torus-forwarding.service restores it.
)";

po::options_description make_options() {
    po::options_description options("Options");
    add_common_options(options);
    options.add_options()  //
        ("format",
         po::value<std::string>()
             ->value_name("ip|networkd|ifupdown|netplan|networkmanager|hosts|mlx|torchrun")
             ->default_value("ip"),
         "output format: ip (for ip -batch), hosts (for /etc/hosts), the files of networkd, "
         "ifupdown, netplan (of Ubuntu) or networkmanager, mlx (a hostfile for mlx.launch) or "
         "torchrun (the commands)")  //
        ("node", po::value<std::string>()->value_name("N"),
         "plan only this node, by number or host name")                               //
        ("apply", "apply the plan to this host instead of printing it (needs root)")  //
        ("keep",
         "with --apply: keep running, and restore addresses and routes when a device comes back")  //
        ("routes", po::value<std::string>()->value_name("fixed|bird")->default_value("fixed"),
         "fixed routes, or routes of the daemon BIRD 2 that survive dead cables")  //
        ("output", po::value<std::string>()->value_name("DIR"),
         "write the files of each host to DIR/HOST instead of printing them")  //
        ("cables", po::value<std::string>()->value_name("NET")->default_value("10.0.0.0/9"),
         "IPv4 network for the cables")  //
        ("nodes", po::value<std::string>()->value_name("NET")->default_value("10.255.0.0/16"),
         "IPv4 network for the addresses of nodes")                                               //
        ("forwarding", "plan the forwarding of Ethernet frames instead of addresses and routes")  //
        ("remove", "with --forwarding: deactivate it on this host (needs root)")                  //
        ("mtu", po::value<std::string>()->value_name("BYTES"), "also set the MTU of the links");
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
    options.dynamic = given["routes"].as<std::string>() == "bird";
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
    throw UsageError(
        fmt::format("this host is \"{}\", which is not in nodes.hosts. Name the node with --node",
                    base::printable(name)));
}

// ---- Applying the plan ----

bool try_ip(const std::string& batch) {
    std::fflush(stdout);
    std::FILE* ip = ::popen("ip -batch -", "we");
    if (!ip) throw std::runtime_error(fmt::format("cannot start ip: {}", std::strerror(errno)));
    const bool written = std::fwrite(batch.data(), 1, batch.size(), ip) == batch.size();
    return ::pclose(ip) == 0 && written;
}

void write_sysctl(const std::string& name, const std::string& value) {
    std::string path = name;
    if (path.find('/') == std::string::npos) std::replace(path.begin(), path.end(), '.', '/');
    path = "/proc/sys/" + path;
    std::ofstream out(path);
    if (!(out << value << std::flush))
        throw std::runtime_error(
            fmt::format("cannot write {} to {}: not permitted. Run as root", value, path));
}

void check_devices(const NodePlan& plan) {
    const HostFacts here = this_host();
    for (const PlannedLink& link : plan.links)
        if (!here.find(link.device))
            throw std::runtime_error(fmt::format(
                "this host has no device {} for link {} of node {}{}; nothing was changed. "
                "Check --node and [links]",
                link.device, direction_name(link.direction), plan.node,
                plan.host.empty() ? "" : fmt::format(" (host {})", plan.host)));
}

// The kernel keeps the label of an address that exists unless the address is removed first.
std::string remove_without_label(const NodePlan& plan) {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return {};
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> guard(first, &::freeifaddrs);
    for (const ifaddrs* entry = first; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr || std::string_view(entry->ifa_name) != "lo") continue;
        const auto address = base::address_from(entry->ifa_addr);
        if (address && address->bytes == plan.address.bytes)
            return fmt::format("addr del {} dev lo\n", plan.address.with_prefix());
    }
    return {};
}

void apply(const NodePlan& plan) {
    check_devices(plan);
    if (!try_ip(remove_without_label(plan) + as_ip_batch(plan)))
        throw std::runtime_error(
            "ip -batch failed with the error above. It needs root and every device of the plan");
    for (const auto& [name, value] : planned_sysctls(plan)) write_sysctl(name, value);
    if (plan.dynamic.empty())
        fmt::print("node {}: {} links and {} routes set up\n", plan.node, plan.links.size(),
                   plan.routes.size());
    else
        fmt::print("node {}: {} links set up; BIRD keeps the routes\n", plan.node,
                   plan.links.size());
}

// ---- Keeping it ----

constexpr int bird_check_ms = 1000;

// The kernel drops the routes over a device that goes down, and a device that was removed has lost
// its address too. Ends only with an error or by a signal.
[[noreturn]] void keep(const NodePlan& plan, transport::Monitor& monitor) {
    std::optional<Bird> bird;
    if (!plan.dynamic.empty()) bird.emplace(plan);
    std::map<unsigned, std::string> devices;  // by index, which changes when a device is removed
    std::set<std::string> gone;
    const auto trouble = [&](unsigned index, std::string_view) {
        if (const auto found = devices.find(index); found != devices.end())
            gone.insert(found->second);
    };
    for (;;) {
        for (const PlannedLink& link : plan.links)
            if (const unsigned index = if_nametoindex(link.device.c_str()); index != 0)
                devices[index] = link.device;
        pollfd news{monitor.descriptor(), POLLIN, 0};
        if (::poll(&news, 1, bird ? bird_check_ms : -1) < 0 && errno != EINTR)
            throw std::runtime_error(
                fmt::format("cannot wait for changes of devices: {}", std::strerror(errno)));
        if (bird) bird->check();
        if (news.revents != 0) monitor.read(trouble);
        for (auto it = gone.begin(); it != gone.end();) {
            // If the device goes down again now, another event follows.
            const bool back =
                transport::trouble_of_device(*it).empty() && try_ip(as_ip_batch(plan, *it));
            if (back)
                fmt::print("node {}: {} {} restored\n", plan.node,
                           bird ? "address of" : "routes over", *it);
            it = back ? gone.erase(it) : std::next(it);
        }
        std::fflush(stdout);
    }
}

[[noreturn]] void apply_and_keep(const NodePlan& plan) {
    transport::Monitor monitor;
    if (monitor.descriptor() < 0)
        throw std::runtime_error("--keep: cannot detect devices that come back: no netlink socket");
    apply(plan);
    std::fflush(stdout);
    keep(plan, monitor);
}

// ---- Printing it ----

std::string title(const NodePlan& plan) {
    return plan.host.empty() ? fmt::format("node {}", plan.node)
                             : fmt::format("node {}, host {}", plan.node, plan.host);
}

// `format` is null for ip -batch.
std::vector<PlannedFile> files_of(const NodePlan& plan, const NetplanFormat* format) {
    if (format) return format->files(plan);
    std::vector<PlannedFile> files{{"/ip.batch", as_ip_batch(plan)}};
    if (!plan.dynamic.empty()) files.push_back({"/etc/torusmp/bird.conf", as_bird(plan)});
    return files;
}

void print(const NodePlan& plan, const NetplanFormat* format) {
    for (const PlannedFile& file : files_of(plan, format))
        fmt::print("# {}{}\n{}\n", title(plan),
                   format || !plan.dynamic.empty() ? ": " + file.path : "", file.text);
}

void write(const NodePlan& plan, const NetplanFormat* format, const std::filesystem::path& folder) {
    const std::string name = plan.host.empty() ? fmt::format("node{}", plan.node) : plan.host;
    for (const PlannedFile& file : files_of(plan, format)) {
        const std::filesystem::path path = folder / name / file.path.substr(1);
        std::filesystem::create_directories(path.parent_path());
        base::write_text_file(path.string(), file.text);
        std::filesystem::permissions(path, std::filesystem::perms(file.mode));
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

// Prints the current state if neither --apply nor --remove is given.
int run_forwarding(const Settings& settings, const po::variables_map& given) {
    for (const char* other : {"output", "cables", "nodes", "mtu", "format", "routes"})
        if (given.count(other) && !given[other].defaulted())
            throw UsageError(fmt::format("--forwarding and --{} exclude each other", other));
    if (given.count("apply") && given.count("remove"))
        throw UsageError("--apply and --remove exclude each other");
    const int node = given.count("node") ? named_node(settings, given["node"].as<std::string>())
                                         : node_of_this_host(settings);
    // Reports the devices that are missing.
    check_devices(plan_node(settings, node));
    if (given.count("apply")) {
        const auto laid = transport::forwarding().lay(settings, node);
        fmt::print("node {}: frames are forwarded between {} links\n", node, laid.size());
        return exit_ok;
    }
    if (given.count("remove")) {
        const auto removed = transport::forwarding().remove(settings, node);
        fmt::print("node {}: forwarding removed from {} links\n", node, removed.size());
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

// Texts for the whole machine rather than for one of its hosts.
struct WholeFormat {
    std::string_view name, file;
    std::string (*text)(const std::vector<NodePlan>& plans);
};
constexpr WholeFormat whole_formats[] = {{"hosts", "hosts", as_hosts},
                                         {"mlx", "mlx.json", as_mlx},
                                         {"torchrun", "torchrun", as_torchrun}};

const WholeFormat* find_whole_format(std::string_view name) {
    for (const WholeFormat& format : whole_formats)
        if (format.name == name) return &format;
    return nullptr;
}

void write_whole(const Settings& settings, const po::variables_map& given,
                 const NetplanOptions& netplan, const WholeFormat& format) {
    if (given.count("node"))
        throw UsageError(fmt::format(
            "--node cannot be used with --format {}, which lists all nodes", format.name));
    std::vector<NodePlan> plans;
    for (const int node : all_nodes(settings)) plans.push_back(plan_node(settings, node, netplan));
    const std::string text = format.text(plans);
    if (given.count("output")) {
        const std::filesystem::path folder = given["output"].as<std::string>();
        std::filesystem::create_directories(folder);
        base::write_text_file((folder / format.file).string(), text);
    } else if (given.count("apply")) {
        base::write_text_file(hosts_file, with_hosts(read_file(hosts_file), text));
        fmt::print("wrote the names of {} nodes to {}\n", plans.size(), hosts_file);
    } else {
        fmt::print("{}", text);
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
            "Plans addresses and routes, or the forwarding of Ethernet frames, for every node of a "
            "geometry file.\n\nUsage: torus-info netplan [options]\n\n{}{}",
            text.str(), examples);
        return exit_ok;
    }
    const std::string format = given["format"].as<std::string>();
    const NetplanFormat* files = find_netplan_format(format);
    const WholeFormat* whole = find_whole_format(format);
    if (format != "ip" && !whole && !files)
        throw UsageError(
            fmt::format("--format is \"{}\": expected ip, networkd, ifupdown, netplan, "
                        "networkmanager, hosts, mlx or torchrun",
                        base::printable(format)));
    if (given.count("apply") && whole && format != "hosts")
        throw UsageError(fmt::format(
            "--apply cannot be used with --format {}: use --output to write a file", format));
    if (given.count("apply") && given.count("output"))
        throw UsageError("--apply and --output exclude each other");
    const std::string routes = given["routes"].as<std::string>();
    if (routes != "fixed" && routes != "bird")
        throw UsageError(
            fmt::format("--routes is \"{}\": expected fixed or bird", base::printable(routes)));
    if (routes == "bird" && given.count("apply") && format == "ip" && !given.count("keep"))
        throw UsageError("--routes bird with --apply requires --keep, which runs the daemon");
    if (given.count("keep") &&
        (!given.count("apply") || given.count("forwarding") || format != "ip"))
        throw UsageError("--keep requires --apply, with --format ip and without --forwarding");
    if (given.count("remove") && !given.count("forwarding"))
        throw UsageError("--remove requires --forwarding");
    const Settings settings = load(job::schema(), request_from(given));
    if (given.count("forwarding")) return run_forwarding(settings, given);
    NetplanOptions netplan = netplan_from(given);
    netplan.to_links = transport::reaches_link_addresses(settings);
    if (whole) {
        write_whole(settings, given, netplan, *whole);
        return exit_ok;
    }
    for (const int node : chosen_nodes(settings, given)) {
        const NodePlan plan = plan_node(settings, node, netplan);
        if (given.count("keep"))
            apply_and_keep(plan);
        else if (given.count("apply"))
            apply(plan);
        else if (given.count("output"))
            write(plan, files, given["output"].as<std::string>());
        else
            print(plan, files);
    }
    return exit_ok;
}

}  // namespace torusmp::torus_info

// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_info/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/printing.h"
#include "base/text.h"
#include "base/units.h"
#include "config/geometry.h"
#include "config/geometry_text.h"
#include "config/raw.h"
#include "core/transport/list.h"
#include "launch/settings.h"
#include "programs/torus_info/explain.h"
#include "routing/graph_order.h"

namespace torusmp::torus_info {

using namespace config;

namespace {

void line(std::string& out, const std::string& text) {
    out += text + "\n";
}

void table(std::string& out, const std::vector<base::Row>& rows) {
    out += base::format_table(rows);
}

void print_settings(std::string& out, const Settings& settings) {
    line(out, "Settings (flag before environment before file before default)");
    std::vector<base::Row> rows{{"key", "value", "from"}};
    for (const AnySetting* setting : settings.schema().settings()) {
        const std::string from = describe_origin(settings.origin(*setting));
        if (setting->type_name() != "algorithms") {
            rows.push_back({std::string(setting->key()), shown_value(*setting, settings), from});
            continue;
        }
        // One line per case: "host: ...; crowded: ...; links: ...".
        std::string_view rest, name = setting->key();
        const std::string value = settings.text(*setting);
        for (rest = value; !rest.empty(); name = {}) {
            const std::size_t end = std::min(rest.find("; "), rest.size());
            rows.push_back({std::string(name), std::string(rest.substr(0, end)),
                            std::string(name.empty() ? std::string_view() : from)});
            rest.remove_prefix(std::min(end + 2, rest.size()));
        }
    }
    table(out, rows);
}

// Numbers of links: the minimum and maximum per node, and the number of cables.
struct LinkCount {
    int fewest = 0, most = 0;
    std::int64_t cables = 0;
};

LinkCount count_links(const routing::Torus& nodes) {
    LinkCount count;
    if (const routing::Graph* const graph = nodes.graph()) {
        std::vector<int> links(std::size_t(nodes.size()));
        for (const routing::GraphCable& cable : graph->cables()) {
            ++links[std::size_t(cable.from)];
            ++links[std::size_t(cable.to)];
        }
        const auto [fewest, most] = std::minmax_element(links.begin(), links.end());
        return {*fewest, *most, std::int64_t(graph->cables().size())};
    }
    for (int d = 0; d < nodes.dimensions(); ++d) {
        const int extent = nodes.extent(d);
        if (extent == 1) continue;
        const bool wraps = nodes.periodic(d);
        count.most += wraps || extent > 2 ? 2 : 1;
        count.fewest += wraps ? 2 : 1;
        count.cables += std::int64_t(nodes.size()) / extent * (wraps ? extent : extent - 1);
    }
    return count;
}

std::string range(int low, int high) {
    return low == high ? std::to_string(low) : fmt::format("{} to {}", low, high);
}

// How far apart the hosts of a graph are, and what one more cable would change.
void add_distances(std::vector<base::Row>& rows, const Report& report, const routing::Torus& nodes) {
    int diameter = 0;
    for (routing::Rank a = 0; a < nodes.size(); ++a)
        for (routing::Rank b = 0; b < a; ++b) diameter = std::max(diameter, nodes.distance(a, b));
    rows.push_back({"hops between hosts", fmt::format("{:.2f} on average, at most {}",
                                                      routing::mean_distance(nodes), diameter)});
    const auto& hosts = host_names(report.settings);
    if (const auto best = routing::best_cable(nodes))
        rows.push_back({"one more cable",
                        fmt::format("between {} and {}: {:.2f} hops on average",
                                    hosts[std::size_t(best->a)], hosts[std::size_t(best->b)],
                                    best->mean)});
}

void print_torus(std::string& out, const Report& report) {
    line(out, report.torus.graph() != nullptr ? "Machine" : "Torus");
    std::vector<base::Row> rows;
    rows.push_back({"ranks", fmt::format("{}: {}", report.torus.describe(), report.ranks)});
    if (const auto nodes = node_torus(report.settings)) {
        const LinkCount links = count_links(*nodes);
        rows.push_back({"nodes", fmt::format("{}: {}", nodes->describe(), nodes->size())});
        rows.push_back({"ranks per node", std::to_string(ranks_on_a_node(report.settings))});
        rows.push_back({"links per node", range(links.fewest, links.most)});
        rows.push_back({"cables", std::to_string(links.cables)});
        if (nodes->graph() != nullptr) add_distances(rows, report, *nodes);
    }
    const std::vector<std::string>& hosts = host_names(report.settings);
    if (hosts.empty())
        rows.push_back({"hosts", "every rank on this host, over shared memory"});
    else if (hosts.size() == 1)
        rows.push_back({"host", hosts.front()});
    else
        rows.push_back(
            {"hosts", fmt::format("{}, {} to {}", hosts.size(), hosts.front(), hosts.back())});
    table(out, rows);
}

// The transports of this build, best first.
void print_transports(std::string& out) {
    line(out, "Transports");
    std::vector<base::Row> rows;
    for (const transport::Descriptor* it : transport::transports())
        rows.push_back({std::string(it->name), std::string(it->help)});
    table(out, rows);
}

std::string describe_limit(const std::optional<std::uint64_t>& bytes) {
    return bytes ? "at most " + base::format_size(*bytes) : std::string("unlimited");
}

// Formats a memory size rounded for people; format_size() is exact.
std::string rounded_size(std::uint64_t bytes) {
    if (bytes >= std::uint64_t(1) << 30)
        return fmt::format("{:.1f} GiB", double(bytes) / (1 << 30));
    return fmt::format("{:.1f} MiB", double(bytes) / (1 << 20));
}

std::string describe_nic(const Nic& nic) {
    std::string out = nic.hardware ? "" : "virtual, ";
    out += nic.up ? "up" : "down";
    if (nic.megabits) out += fmt::format(", {} Mbit/s", *nic.megabits);
    out += fmt::format(", MTU {}", nic.mtu);
    if (nic.numa) out += fmt::format(", NUMA node {}", *nic.numa);
    if (!nic.rdma_devices.empty())
        out += fmt::format(", RDMA {}", fmt::join(nic.rdma_devices, " "));
    return out;
}

void print_host(std::string& out, const Host& host) {
    line(out, fmt::format("Host {}", base::printable(host.name)));
    std::string cores = plural(std::int64_t(host.cores.size()), "core");
    if (host.hardware_threads() != int(host.cores.size()))
        cores += ", " + plural(host.hardware_threads(), "hardware thread");
    if (host.cores_in_all > int(host.cores.size()))
        cores += fmt::format("; this process may use {} of {} cores", host.cores.size(),
                             host.cores_in_all);
    std::vector<base::Row> rows{{"processors", cores}};
    if (host.usable_cores() < int(host.cores.size()))
        rows.push_back({"time limit", fmt::format("{:.2f} cores, set by the cgroup", *host.quota)});
    // With a single NUMA node the line would repeat the machine's processors.
    for (std::size_t i = 0; i < host.numa_nodes.size() && host.numa_nodes.size() > 1; ++i) {
        CpuList cpus;
        for (const Core& core : host.cores)
            if (core.numa == int(i)) cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.end());
        std::sort(cpus.begin(), cpus.end());
        const NumaNode& node = host.numa_nodes[i];
        rows.push_back({fmt::format("NUMA node {}", node.number),
                        fmt::format("processors {}, {}", describe_cpus(cpus),
                                    node.memory ? rounded_size(node.memory) : "memory not known")});
    }
    if (host.memory.total != 0)
        rows.push_back(
            {"memory", rounded_size(host.memory.total) + " in total" +
                           (host.memory.available == 0
                                ? std::string()
                                : ", " + rounded_size(host.memory.available) + " available")});
    rows.push_back({"locked memory", fmt::format("{} for this process (RDMA needs it)",
                                                 describe_limit(host.lock_limit))});
    rows.push_back({"/dev/shm", host.shm_free ? rounded_size(*host.shm_free) + " free"
                                              : std::string("missing")});
    for (const Nic& nic : host.nics)
        rows.push_back({"NIC " + base::printable(nic.name), describe_nic(nic)});
    if (host.nics.empty()) rows.push_back({"NICs", "none except loopback"});
    table(out, rows);
}

std::string why_unbound(const Report& report) {
    if (report.settings[launch::setting::bind] == Bind::none) return "launch.bind is none";
    if (report.local_ranks == 1) return "alone on this host";
    return fmt::format("{} on {}", plural(report.local_ranks, "rank"),
                       plural(report.host.usable_cores(), "usable core"));
}

void print_binding(std::string& out, const Report& report) {
    line(out, fmt::format("Binding of {} on this host", plural(report.local_ranks, "rank")));
    const std::vector<CpuList>& plan = report.binding;
    if (plan.front().empty()) {
        table(out, {{report.local_ranks == 1 ? "rank 0"
                                             : fmt::format("ranks 0-{}", report.local_ranks - 1),
                     fmt::format("not bound: {}", why_unbound(report))}});
        return;
    }
    std::vector<base::Row> rows;
    // Consecutive ranks with the same processors share a line.
    for (std::size_t first = 0; first < plan.size();) {
        std::size_t last = first;
        while (last + 1 < plan.size() && plan[last + 1] == plan[first]) ++last;
        rows.push_back({first == last ? fmt::format("rank {}", first)
                                      : fmt::format("ranks {}-{}", first, last),
                        "processors " + describe_cpus(plan[first])});
        first = last + 1;
    }
    table(out, rows);
}

bool has_links(const Report& report) {
    return host_names(report.settings).size() > 1 && node_torus(report.settings);
}

void print_links(std::string& out, const Report& report) {
    if (!report.node) {
        line(out, fmt::format("Links of the machine, seen from outside: {} is not in nodes.hosts",
                              base::printable(report.host.name)));
        out += cables_text(report.settings);
        return;
    }
    line(out, fmt::format("Links of node {}, as seen from this end (torus-check tests both ends)",
                          *report.node));
    out += links_text(report.links);
    if (report.forwarding_trouble)
        line(out, "  frames to ranks that are not neighbours are " +
                      (report.forwarding_trouble->empty()
                           ? std::string("forwarded by this kernel")
                           : "not forwarded by this kernel: " + *report.forwarding_trouble));
}

// ---- JSON ----

template <class Values>
std::string flat(const Values& values) {
    return fmt::format("[{}]", fmt::join(values, ", "));
}

template <class Number>
std::string number_or_null(const std::optional<Number>& value) {
    return value ? fmt::format("{}", *value) : std::string("null");
}

std::string settings_json(const Settings& settings) {
    std::vector<std::string> parts;
    for (const AnySetting* setting : settings.schema().settings()) {
        const Origin& origin = settings.origin(*setting);
        parts.push_back(
            fmt::format("{}: {{\"value\": {}, \"origin\": {}, \"where\": {}}}",
                        base::json_quote(setting->key()), base::json_quote(settings.text(*setting)),
                        base::json_quote(name_of(origin.kind)), base::json_quote(origin.where)));
    }
    return base::json_enclose(parts, '{', '}', 1);
}

std::string torus_json(const Report& report) {
    std::vector<bool> periodic;
    for (int d = 0; d < report.torus.dimensions(); ++d)
        periodic.push_back(report.torus.periodic(d));
    std::vector<std::string> hosts;
    for (const std::string& host : host_names(report.settings))
        hosts.push_back(base::json_quote(host));
    std::vector<std::string> parts{
        fmt::format("\"ranks\": {}", report.ranks),
        fmt::format("\"dims\": {}", flat(report.torus.extents())),
        fmt::format("\"periodic\": {}", flat(periodic)),
        fmt::format("\"ranks_per_node\": {}", ranks_on_a_node(report.settings))};
    if (const auto nodes = node_torus(report.settings)) {
        parts.push_back(fmt::format("\"nodes\": {}, \"cables\": {}", nodes->size(),
                                    count_links(*nodes).cables));
        if (nodes->graph() != nullptr)
            parts.push_back(
                fmt::format("\"graph\": true, \"mean_hops\": {:.4f}", routing::mean_distance(*nodes)));
    }
    parts.push_back(fmt::format("\"hosts\": {}", flat(hosts)));
    return base::json_enclose(parts, '{', '}', 1);
}

std::string nic_json(const Nic& nic) {
    std::vector<std::string> rdma;
    for (const std::string& device : nic.rdma_devices) rdma.push_back(base::json_quote(device));
    return fmt::format(
        "{{\"name\": {}, \"hardware\": {}, \"up\": {}, \"mtu\": {}, \"megabits\": {}, \"numa\": "
        "{}, "
        "\"rdma\": {}}}",
        base::json_quote(nic.name), nic.hardware, nic.up, nic.mtu, number_or_null(nic.megabits),
        number_or_null(nic.numa), flat(rdma));
}

std::string host_json(const Host& host) {
    std::vector<std::string> cores, nodes, nics;
    for (const Core& core : host.cores)
        cores.push_back(fmt::format("{{\"processors\": {}, \"numa\": {}}}", flat(core.cpus),
                                    host.numa_nodes[std::size_t(core.numa)].number));
    for (const NumaNode& node : host.numa_nodes)
        nodes.push_back(
            fmt::format("{{\"number\": {}, \"memory\": {}}}", node.number, node.memory));
    for (const Nic& nic : host.nics) nics.push_back(nic_json(nic));
    return base::json_enclose(
        {fmt::format("\"name\": {}", base::json_quote(host.name)),
         fmt::format("\"cores\": {}", base::json_enclose(cores, '[', ']', 2)),
         fmt::format("\"cores_in_all\": {}", host.cores_in_all),
         fmt::format("\"usable_cores\": {}", host.usable_cores()),
         fmt::format("\"numa_nodes\": {}", base::json_enclose(nodes, '[', ']', 2)),
         fmt::format("\"memory\": {}, \"memory_available\": {}", host.memory.total,
                     host.memory.available),
         fmt::format("\"lock_limit\": {}", number_or_null(host.lock_limit)),
         fmt::format("\"shm_free\": {}", number_or_null(host.shm_free)),
         fmt::format("\"nics\": {}", base::json_enclose(nics, '[', ']', 2))},
        '{', '}', 1);
}

}  // namespace

Report make_report(const Settings& settings, std::optional<int> ranks) {
    // Rejects a wrong number before the slow query of the host.
    if (!ranks && !settings[setting::dims].empty())
        ranks = node_torus(settings)->size() * ranks_on_a_node(settings);
    if (ranks) rank_torus(settings, *ranks);
    Host host = discover_host();
    if (!ranks) ranks = host.usable_cores();
    const int local = host_names(settings).empty() ? *ranks : ranks_on_a_node(settings);
    const int cores_each = settings[launch::setting::cpus_per_rank];
    std::vector<CpuList> binding = plan_binding(
        host, local, policy_with(settings[launch::setting::bind], cores_each), cores_each);
    const std::optional<int> node = find_node(settings, host.name);
    std::vector<LinkReport> links;
    if (node && node_torus(settings)) links = links_of(settings, *node);
    std::optional<std::string> forwarding_trouble;
    if (!links.empty()) forwarding_trouble = transport::forwarding().trouble(settings, *node);
    return {settings,
            *ranks,
            local,
            rank_torus(settings, *ranks),
            std::move(host),
            std::move(binding),
            node,
            std::move(links),
            std::move(forwarding_trouble)};
}

std::string report_text(const Report& report, bool here) {
    std::string out;
    if (has_links(report)) {
        print_links(out, report);
        out += "\n";
    }
    print_torus(out, report);
    if (here || host_names(report.settings).empty()) {
        out += "\n";
        print_host(out, report.host);
        out += "\n";
        print_binding(out, report);
    }
    out += "\n";
    print_transports(out);
    out += "\n";
    print_settings(out, report.settings);
    if (!here && !host_names(report.settings).empty())
        out += "\nThis host, and where its ranks run: torus-info --here\n";
    return out;
}

std::string report_json(const Report& report) {
    std::vector<std::string> binding;
    for (const CpuList& cpus : report.binding) binding.push_back(flat(cpus));
    return base::json_enclose(
               {fmt::format("\"version\": {}", base::json_quote(TORUSMP_VERSION)),
                fmt::format("\"file\": {}", report.settings.file().empty()
                                                ? "null"
                                                : base::json_quote(report.settings.file())),
                fmt::format("\"settings\": {}", settings_json(report.settings)),
                fmt::format("\"torus\": {}", torus_json(report)),
                fmt::format("\"host\": {}", host_json(report.host)),
                fmt::format("\"binding\": {}", base::json_enclose(binding, '[', ']', 1)),
                fmt::format("\"node\": {}", number_or_null(report.node)),
                fmt::format("\"links\": {}", links_json(report.links)),
                fmt::format("\"cables\": {}",
                            has_links(report) ? cables_json(report.settings) : "[]"),
                fmt::format("\"forwards_frames\": {}",
                            report.forwarding_trouble
                                ? report.forwarding_trouble->empty() ? "true" : "false"
                                : "null")},
               '{', '}', 0) +
           "\n";
}

}  // namespace torusmp::torus_info

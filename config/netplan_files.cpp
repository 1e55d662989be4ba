// SPDX-License-Identifier: BSD-3-Clause
// The address plan as files of the services that set up a host's network, and of other launchers.
#include <fmt/format.h>

#include <algorithm>

#include "config/netplan.h"
#include "config/network.h"

namespace torusmp::config {

namespace {

// What every service needs besides its own files.
void add_common_files(const NodePlan& plan, std::vector<PlannedFile>& files) {
    std::string sysctls;
    for (const auto& [name, value] : planned_sysctls(plan))
        sysctls += fmt::format("{} = {}\n", name, value);
    files.push_back({"/etc/sysctl.d/60-torus.conf", std::move(sysctls)});
    if (!plan.dynamic.empty()) files.push_back({"/etc/torusmp/bird.conf", as_bird(plan)});
}

}  // namespace

// The first file by name that matches a device counts; users' files begin with 10 or more.
std::vector<PlannedFile> as_networkd(const NodePlan& plan) {
    std::vector<PlannedFile> files;
    files.push_back({"/etc/systemd/network/05-torus-lo.network",
                     fmt::format("[Match]\nName=lo\n\n[Network]\nAddress=127.0.0.1/8\n\n"
                                 "[Address]\nAddress={}\nLabel={}\n",
                                 plan.address.with_prefix(), node_label)});
    for (const PlannedLink& link : plan.links) {
        std::string text = fmt::format("[Match]\nName={}\n", link.device);
        if (plan.mtu) text += fmt::format("\n[Link]\nMTUBytes={}\n", *plan.mtu);
        text += fmt::format(
            "\n[Network]\nDescription=torus link to node {}\nAddress={}\nLinkLocalAddressing=ipv6\n"
            "IPForward=ipv4\nIPv6AcceptRA=no\n",
            link.neighbour, link.own.with_prefix());
        for (const PlannedRoute& route : plan.routes)
            if (route.device == link.device)
                text += fmt::format("\n[Route]\nDestination={}\nGateway={}\nPreferredSource={}\n",
                                    route.to.with_prefix(), route.via.text(), plan.address.text());
        files.push_back({fmt::format("/etc/systemd/network/05-torus-{}.network", link.device),
                         std::move(text)});
    }
    add_common_files(plan, files);
    return files;
}

std::vector<PlannedFile> as_ifupdown(const NodePlan& plan) {
    std::vector<PlannedFile> files;
    std::string stanzas;
    for (const PlannedLink& link : plan.links) {
        const std::string batch = fmt::format("/etc/torusmp/{}.ip", link.device);
        stanzas += fmt::format(
            "auto {0}\niface {0} inet manual\n    up ip -batch {1}\n    down ip addr flush dev {0} "
            "scope global\n\n",
            link.device, batch);
        files.push_back(
            {batch, fmt::format("addr replace {} dev lo label {}\nlink set dev {}{} up\n{}",
                                plan.address.with_prefix(), node_label, link.device,
                                plan.mtu ? fmt::format(" mtu {}", *plan.mtu) : "",
                                as_ip_batch(plan, link.device))});
    }
    files.push_back({"/etc/network/interfaces.d/torus", std::move(stanzas)});
    add_common_files(plan, files);
    return files;
}

std::vector<PlannedFile> as_netplan(const NodePlan& plan) {
    std::string text = fmt::format(
        "network:\n  version: 2\n  ethernets:\n    lo:\n      addresses:\n        - 127.0.0.1/8\n"
        "        - {}: {{label: \"{}\"}}\n",
        plan.address.with_prefix(), node_label);
    for (const PlannedLink& link : plan.links) {
        text += fmt::format(
            "    {}:\n      addresses: [{}]\n      dhcp4: false\n      accept-ra: false\n"
            "      optional: true\n",
            link.device, link.own.with_prefix());
        if (plan.mtu) text += fmt::format("      mtu: {}\n", *plan.mtu);
        std::string routes;
        for (const PlannedRoute& route : plan.routes)
            if (route.device == link.device)
                routes +=
                    fmt::format("        - {{to: {}, via: {}, from: {}}}\n", route.to.with_prefix(),
                                route.via.text(), plan.address.text());
        if (!routes.empty()) text += "      routes:\n" + routes;
    }
    std::vector<PlannedFile> files{{"/etc/netplan/60-torus.yaml", std::move(text), 0600}};
    add_common_files(plan, files);
    return files;
}

std::vector<PlannedFile> as_keyfiles(const NodePlan& plan) {
    constexpr const char* folder = "/etc/NetworkManager/system-connections";
    std::vector<PlannedFile> files;
    files.push_back({fmt::format("{}/torus-lo.nmconnection", folder),
                     fmt::format("[connection]\nid=torus-lo\ntype=loopback\ninterface-name=lo\n\n"
                                 "[ipv4]\nmethod=manual\naddress1=127.0.0.1/8\naddress2={}\n",
                                 plan.address.with_prefix()),
                     0600});
    for (const PlannedLink& link : plan.links) {
        std::string text = fmt::format(
            "[connection]\nid=torus-{0}\ntype=ethernet\ninterface-name={0}\nautoconnect-priority="
            "100\n\n",
            link.device);
        if (plan.mtu) text += fmt::format("[ethernet]\nmtu={}\n\n", *plan.mtu);
        // NetworkManager adds a route once, and the kernel refuses one whose source the host does
        // not have yet: lo may get its address later. So each device has it, too.
        text += fmt::format("[ipv4]\nmethod=manual\naddress1={}\naddress2={}\nnever-default=true\n",
                            link.own.with_prefix(), plan.address.with_prefix());
        int number = 0;
        for (const PlannedRoute& route : plan.routes)
            if (route.device == link.device)
                text += fmt::format("route{0}={1},{2}\nroute{0}_options=src={3}\n", ++number,
                                    route.to.with_prefix(), route.via.text(), plan.address.text());
        text += "\n[ipv6]\nmethod=link-local\n";
        files.push_back(
            {fmt::format("{}/torus-{}.nmconnection", folder, link.device), std::move(text), 0600});
    }
    add_common_files(plan, files);
    return files;
}

namespace {

void check_names(const std::vector<NodePlan>& plans, const char* what) {
    for (const NodePlan& plan : plans)
        if (plan.host.empty())
            throw ConfigError(
                fmt::format("the nodes have no names for {}: expected nodes.hosts", what));
}

// Each next node is a neighbour if one is left, namely one that has the fewest neighbours left
// itself, so that no corner is cut off (Warnsdorff's rule).
std::vector<const NodePlan*> walk(const std::vector<NodePlan>& plans) {
    std::vector<bool> seen(plans.size(), false);
    const auto left = [&](const NodePlan& plan) {
        return std::count_if(plan.links.begin(), plan.links.end(), [&](const PlannedLink& link) {
            return !seen[std::size_t(link.neighbour)];
        });
    };
    std::vector<const NodePlan*> order;
    while (order.size() < plans.size()) {
        const NodePlan* next = nullptr;
        if (!order.empty())
            for (const PlannedLink& link : order.back()->links)
                if (const NodePlan& other = plans[std::size_t(link.neighbour)];
                    !seen[std::size_t(other.node)] && (!next || left(other) < left(*next)))
                    next = &other;
        const auto first_left = std::find(seen.begin(), seen.end(), false);
        if (!next) next = &plans[std::size_t(first_left - seen.begin())];
        seen[std::size_t(next->node)] = true;
        order.push_back(next);
    }
    return order;
}

}  // namespace

std::string as_mlx(const std::vector<NodePlan>& plans) {
    check_names(plans, "mlx.launch");
    const std::vector<const NodePlan*> order = walk(plans);
    std::string hosts;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const NodePlan& plan = *order[i];
        const int before = order[(i + order.size() - 1) % order.size()]->node;
        const auto cable =
            std::find_if(plan.links.begin(), plan.links.end(),
                         [&](const PlannedLink& link) { return link.neighbour == before; });
        hosts += fmt::format("{}    {{\"ssh\": \"{}\", \"ips\": [\"{}\"], \"rdma\": []}}",
                             i == 0 ? "" : ",\n", plan.host,
                             (cable == plan.links.end() ? plan.address : cable->own).text());
    }
    return fmt::format(
        "{{\n  \"backend\": \"ring\",\n  \"envs\": [],\n  \"hosts\": [\n{}\n  ]\n}}\n", hosts);
}

std::string as_torchrun(const std::vector<NodePlan>& plans) {
    check_names(plans, "torchrun");
    std::string out;
    for (const NodePlan& plan : plans)
        out += fmt::format(
            "{}: env GLOO_SOCKET_IFNAME={} torchrun --nnodes={} --node-rank={} --nproc-per-node=1 "
            "--master-addr={} --master-port=29500\n",
            plan.host, node_label, plans.size(), plan.node, plans.front().address.text());
    return out;
}

const NetplanFormat* find_netplan_format(std::string_view name) {
    for (const NetplanFormat& format : netplan_formats)
        if (format.name == name) return &format;
    return nullptr;
}

}  // namespace torusmp::config

// SPDX-License-Identifier: BSD-3-Clause
#include "config/route_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/geometry.h"
#include "config/route_table.h"

namespace torusmp::config {

namespace {

class RouteCheck {
  public:
    RouteCheck(const Settings& settings, const std::vector<HostFacts>& hosts)
        : settings_(settings), hosts_(hosts), torus_(*node_torus(settings)) {}

    std::vector<RouteFault> run() {
        for (int target = 0; target < torus_.size(); ++target)
            if (!facts(target).node_address())
                faults_.push_back(
                    {target, fmt::format("host {} has no address that other hosts can reach, and "
                                         "routing.forward = \"kernel\" requires one: torus-info "
                                         "netplan plans an address for each node",
                                         host(target))});
        // One line for all hosts: they lost their routes together, or none were installed.
        std::vector<MissingRoutes> missing;
        for (int node = 0; node < torus_.size(); ++node)
            if (const MissingRoutes found = missing_routes(node); found.count != 0)
                missing.push_back(found);
        if (!missing.empty()) say_missing(missing);
        return std::move(faults_);
    }

  private:
    const std::string& host(int node) const { return host_names(settings_)[std::size_t(node)]; }
    const HostFacts& facts(int node) const { return hosts_[std::size_t(node)]; }

    struct MissingRoutes {
        int node = 0;
        int first = -1;  // to that node
        int count = 0;   // of nodes
    };

    // The kernel uses the default route if the route over a link is gone. The default route leads
    // out of the torus, unless it leaves by a link itself, or the other host's address is on
    // another network.
    MissingRoutes missing_routes(int node) const {
        MissingRoutes missing{.node = node};
        if (!facts(node).routes_known) return missing;
        const RouteTable all(facts(node), [](const RouteFact&) { return true; });
        const RouteTable known(facts(node), [&](const RouteFact& route) {
            return route.to.prefix != 0 || is_link(node, route.device);
        });
        for (int target = 0; target < torus_.size(); ++target) {
            const base::Address* address = facts(target).node_address();
            // Neighbours and other ranks of the host are reached without a route.
            if (!address || torus_.distance(node, target) < 2) continue;
            if ((is_of_torus(target, *address) ? known : all).reaches(*address)) continue;
            if (missing.count++ == 0) missing.first = target;
        }
        return missing;
    }

    bool is_link(int node, const std::string& device) const {
        const std::vector<std::string> names = link_devices(settings_, node);
        return std::find(names.begin(), names.end(), device) != names.end();
    }

    bool is_of_torus(int node, const base::Address& address) const {
        for (const Device& device : facts(node).devices)
            for (const base::Address& own : device.addresses)
                if (&own == &address) return device.loopback || is_link(node, device.name);
        return false;
    }

    void say_missing(const std::vector<MissingRoutes>& missing) {
        const auto others = [](std::size_t count, std::string_view before) {
            return count == 0 ? std::string()
                              : fmt::format("{}{} other{}", before, count, count > 1 ? "s" : "");
        };
        const MissingRoutes& one = missing.front();
        std::vector<std::string> hosts;
        for (const MissingRoutes& it : missing) hosts.push_back(host(it.node));
        const std::string file = settings_.file().empty() ? "" : " --config " + settings_.file();
        faults_.push_back(
            {one.node,
             fmt::format(
                 "host {} has no route over its links to host {} ({}){}, and routing.forward = "
                 "\"kernel\" requires one{}. The kernel drops routes when their device goes down. "
                 "Restore them with \"torus-info netplan{} --apply\" as root on {} "
                 "(torus-routes.service keeps them), or set routing.forward = \"relay\"",
                 host(one.node), host(one.first), facts(one.first).node_address()->text(),
                 others(std::size_t(one.count) - 1, " nor to "),
                 missing.size() > 1
                     ? fmt::format("; routes are missing on {} hosts in total", missing.size())
                     : "",
                 file, fmt::join(hosts, ", "))});
    }

    const Settings& settings_;
    const std::vector<HostFacts>& hosts_;
    const routing::Torus torus_;
    std::vector<RouteFault> faults_;
};

}  // namespace

std::vector<RouteFault> find_route_faults(const Settings& settings,
                                          const std::vector<HostFacts>& hosts) {
    return RouteCheck(settings, hosts).run();
}

}  // namespace torusmp::config

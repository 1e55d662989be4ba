// SPDX-License-Identifier: BSD-3-Clause
#include "config/plugs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "config/cable.h"
#include "config/geometry.h"
#include "config/geometry_text.h"
#include "config/network.h"

namespace torusmp::config {
namespace {

using routing::Direction;

Exchange ordered(int node, const std::string& one, const std::string& other) {
    return {node, std::min(one, other), std::max(one, other)};
}

class Finder {
  public:
    Finder(const Settings& settings, const Plugs& heard) : settings_(settings), heard_(heard) {
        const routing::Torus torus = *node_torus(settings);
        for (int node = 0; node < torus.size(); ++node)
            for (int i = 0; i < 2 * torus.link_dimensions(); ++i) {
                const auto direction = Direction::from_index(i);
                const auto peer = torus.neighbour(node, direction);
                if (!peer) continue;
                expected_[{node, link_device(settings, node, direction)}] = {
                    {*peer, link_device(settings, *peer, direction.opposite())}, direction};
            }
    }

    std::vector<PlugFault> run() {
        std::map<Exchange, std::set<Plug>> explained;
        for (const auto& [here, far] : heard_)
            if (is_wrong(here, far))
                for (const Exchange& exchange : exchanges_of(here, far))
                    explained[exchange].insert(here);
        // The exchange that explains most faults; on a tie, the first.
        std::vector<std::pair<Exchange, std::set<Plug>>> order(explained.begin(), explained.end());
        std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
            return a.second.size() > b.second.size();
        });
        for (const auto& [exchange, plugs] : order) {
            const bool fresh = std::any_of(plugs.begin(), plugs.end(), [&](const Plug& plug) {
                return advised_.count(*cable_at(settings_, plug.node, plug.device)) == 0;
            });
            if (fresh) report(exchange, plugs);
        }
        for (const auto& [here, far] : heard_)
            if (is_wrong(here, far)) report(here, far);
        return std::move(faults_);
    }

  private:
    struct Expected {
        Plug far;
        Direction direction;
    };

    bool is_wrong(const Plug& here, const Plug& far) const {
        const auto should = expected_.find(here);
        return should != expected_.end() && should->second.far != far;
    }
    std::vector<Exchange> exchanges_of(const Plug& here, const Plug& far) const {
        const auto theirs = expected_.find(far);
        if (theirs == expected_.end()) return {};
        return explain_by_exchange(here, expected_.at(here).far, far, theirs->second.far);
    }

    std::string name(const Plug& plug) const {
        const auto known = expected_.find(plug);
        return fmt::format("{} {}{}", host_of(settings_, {plug.node, {}}), plug.device,
                           known == expected_.end()
                               ? std::string(" (no link)")
                               : direction_note(settings_, known->second.direction));
    }
    std::string leads(const Plug& here, const Plug& far) const {
        return fmt::format("{} leads to {}, expected {}", name(here), name(far),
                           name(expected_.at(here).far));
    }

    // Returns false if already reported.
    bool mark(const Plug& plug, PlugFault& fault) {
        const routing::Link cable = *cable_at(settings_, plug.node, plug.device);
        if (!advised_.insert(cable).second) return false;
        fault.cables.push_back(cable);
        return true;
    }
    void report(const Exchange& exchange, const std::set<Plug>& plugs) {
        PlugFault fault;
        const std::string host = host_of(settings_, {exchange.node, {}});
        fault.text = fmt::format("the devices {} and {} of {} are exchanged: ", exchange.one,
                                 exchange.other, host);
        bool first = true;
        for (const Plug& plug : plugs) {
            if (!mark(plug, fault)) continue;
            fault.text += (first ? "" : "; ") + leads(plug, heard_.at(plug));
            first = false;
        }
        fault.text += ". " + advise_exchange(host, exchange.one, exchange.other);
        faults_.push_back(std::move(fault));
    }
    void report(const Plug& here, const Plug& far) {
        PlugFault fault;
        if (!mark(here, fault)) return;
        fault.text = leads(here, far) + ". Plug the cable in where the geometry file says.";
        faults_.push_back(std::move(fault));
    }

    const Settings& settings_;
    const Plugs& heard_;
    std::map<Plug, Expected> expected_;
    std::set<routing::Link> advised_;
    std::vector<PlugFault> faults_;
};

// Gives links the cables that lead to their neighbours.
class Follower {
  public:
    Follower(const Settings& settings, const Plugs& heard,
             const std::function<bool(const Plug&)>& exists)
        : settings_(settings), torus_(*node_torus(settings)) {
        for (const auto& [here, far] : heard) cables_.insert(std::minmax(here, far));
        for (int node = 0; node < torus_.size(); ++node)
            for (int d = 0; d < torus_.link_dimensions(); ++d) {
                const auto peer = torus_.neighbour(node, {d, +1});
                if (!peer) continue;
                const Plug here{node, link_device(settings, node, {d, +1})};
                const Plug far{*peer, link_device(settings, *peer, {d, -1})};
                const bool wrong = differs(heard, here, far) || differs(heard, far, here);
                if (wrong || !exists(here) || !exists(far)) wrong_.push_back({node, d});
            }
    }

    std::optional<Settings> run() {
        if (wrong_.empty()) return std::nullopt;
        std::map<routing::Link, std::pair<Plug, Plug>> found;
        for (const routing::Link& link : wrong_) {
            const int peer = routing::far_end(torus_, link);
            const auto cable = std::find_if(cables_.begin(), cables_.end(), [&](const auto& ends) {
                return std::minmax(ends.first.node, ends.second.node) ==
                       std::minmax(link.rank, peer);
            });
            if (cable == cables_.end()) return std::nullopt;
            const bool forward = cable->first.node == link.rank;
            found[link] = forward ? *cable : std::pair(cable->second, cable->first);
            cables_.erase(cable);
        }
        return settings_[setting::cables].nodes ? with_cables(found) : with_links(found);
    }

  private:
    using Found = std::map<routing::Link, std::pair<Plug, Plug>>;

    static bool differs(const Plugs& heard, const Plug& here, const Plug& far) {
        const auto found = heard.find(here);
        return found != heard.end() && found->second != far;
    }

    Settings with_links(const Found& found) const {
        HostLinks links = settings_[setting::host_links];
        for (const auto& [link, ends] : found) {
            links[host(ends.first)][direction_name(link.direction())] = ends.first.device;
            links[host(ends.second)][direction_name(link.direction().opposite())] =
                ends.second.device;
        }
        Settings changed = settings_;
        changed.set(setting::host_links, std::move(links), settings_.origin(setting::links));
        return changed;
    }

    Settings with_cables(const Found& found) const {
        Cables cables = settings_[setting::cables];
        const auto& all = cables.nodes->cables();
        for (const auto& [link, ends] : found) {
            const routing::GraphCable cable{link.rank, link.dimension,
                                            routing::far_end(torus_, link)};
            auto& [one, other] =
                cables.list[std::size_t(std::find(all.begin(), all.end(), cable) - all.begin())];
            const bool forward = one.host == host(ends.first);
            (forward ? one : other).device = ends.first.device;
            (forward ? other : one).device = ends.second.device;
        }
        Settings changed = settings_;
        changed.set(setting::cables, std::move(cables));
        return changed;
    }

    const std::string& host(const Plug& plug) const {
        return host_names(settings_)[std::size_t(plug.node)];
    }

    const Settings& settings_;
    const routing::Torus torus_;
    std::set<std::pair<Plug, Plug>> cables_;
    std::vector<routing::Link> wrong_;
};

}  // namespace

std::optional<Settings> follow_plugs(const Settings& settings, const Plugs& heard,
                                     const std::function<bool(const Plug&)>& exists) {
    return Follower(settings, heard, exists).run();
}

std::vector<Exchange> explain_by_exchange(const Plug& here, const Plug& expected, const Plug& far,
                                          const Plug& theirs) {
    std::vector<Exchange> found;
    if (theirs.node == here.node && theirs.device != here.device)
        found.push_back(ordered(here.node, here.device, theirs.device));
    if (far.node == expected.node && far.device != expected.device)
        found.push_back(ordered(far.node, far.device, expected.device));
    return found;
}

std::string advise_exchange(const std::string& host, const std::string& one,
                            const std::string& other) {
    return fmt::format(
        "If the plugs of {0} were moved, exchange the two plugs. Otherwise its kernel has "
        "exchanged the device names (compare the MAC addresses in 'ip link' with the earlier "
        "ones): exchange {1} and {2} in the geometry file for that host, or bind the names to MAC "
        "addresses (systemd.link).",
        host, one, other);
}

std::vector<PlugFault> find_plug_faults(const Settings& settings, const Plugs& heard) {
    return Finder(settings, heard).run();
}

}  // namespace torusmp::config

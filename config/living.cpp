// SPDX-License-Identifier: BSD-3-Clause
#include "config/living.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "config/box.h"
#include "config/check.h"
#include "config/geometry.h"
#include "config/geometry_text.h"
#include "config/network.h"

namespace torusmp::config {

namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

Names hosts_before(const Team& team) {
    return team.before ? host_names(*team.before) : Names();
}

// The position of each host of the machine among the names; -1 if it is not there.
std::vector<int> positions(const Settings& machine, const Names& names) {
    std::unordered_map<std::string_view, int> known;
    for (const std::string& name : names) known.emplace(name, int(known.size()));
    std::vector<int> all;
    for (const std::string& host : host_names(machine)) {
        const auto found = known.find(host);
        all.push_back(found == known.end() ? -1 : found->second);
    }
    return all;
}

void sort_as_in(const Names& order, Names& hosts) {
    std::map<std::string_view, std::size_t> position;
    for (const std::string& host : order) position.emplace(host, position.size());
    std::sort(hosts.begin(), hosts.end(),
              [&](const auto& a, const auto& b) { return position.at(a) < position.at(b); });
}

bool has_links(const Settings& machine) {
    return !machine[setting::links].empty() || !machine[setting::host_links].empty();
}

// ---- A box of the torus ----

// All places where a box of these extents may begin.
std::vector<std::vector<int>> starts(const Settings& machine, const std::vector<int>& extents) {
    const std::vector<int>& dims = machine[setting::dims];
    const std::vector<bool>& periodic = machine[setting::periodic];
    std::vector<std::vector<int>> all{{}};
    for (std::size_t d = 0; d < dims.size(); ++d) {
        const bool ring = periodic.empty() || periodic[d];
        // A box over a whole ring has the same hosts wherever it begins.
        const int last = extents[d] == dims[d] ? 0 : ring ? dims[d] - 1 : dims[d] - extents[d];
        std::vector<std::vector<int>> longer;
        for (const std::vector<int>& some : all)
            for (int start = 0; start <= last; ++start) {
                longer.push_back(some);
                longer.back().push_back(start);
            }
        all = std::move(longer);
    }
    return all;
}

// The box that keeps the shape of the job, then the most hosts of it; else the hosts named first if
// they are one, then the most compact one with hosts that are named early.
std::optional<Box> find_box(const Settings& machine, const Team& team) {
    const std::vector<int>& dims = machine[setting::dims];
    const std::vector<int> place = positions(machine, team.usable);
    const std::vector<int> before = positions(machine, hosts_before(team));
    const std::vector<int> first = positions(machine, {team.first});
    std::optional<Box> best;
    std::tuple<bool, bool, int, bool, int, std::int64_t> best_rank;
    for (const std::vector<int>& extents : extents_of(dims, team.hosts))
        for (const std::vector<int>& start : starts(machine, extents)) {
            const Box box{start, extents};
            bool possible = true, has_first = false, named_first = true;
            int kept = 0, sum = 0;
            std::int64_t places = 0;
            for (const int node : nodes_of(dims, box)) {
                const auto i = std::size_t(node);
                possible = possible && place[i] >= 0;
                has_first = has_first || first[i] >= 0;
                named_first = named_first && place[i] < team.hosts;
                kept += int(before[i] >= 0);
                places += place[i];
            }
            if (!possible) continue;
            for (const int extent : extents) sum += extent;
            const bool same_shape = team.before && (*team.before)[setting::dims] == extents;
            const std::tuple rank{!has_first, !same_shape, -kept, !named_first, sum, places};
            if (best && rank >= best_rank) continue;
            best = box;
            best_rank = rank;
        }
    return best;
}

// ---- Any hosts ----

// The hosts of the job keep their places; others take those that have become free.
Names in_their_places(const Names& chosen, const Names& before) {
    if (before.size() != chosen.size()) return chosen;
    Names order = before, fresh;
    for (const std::string& host : chosen)
        if (!contains(before, host)) fresh.push_back(host);
    std::size_t next = 0;
    for (std::string& host : order)
        if (!contains(chosen, host)) host = fresh[next++];
    return order;
}

// Hosts without [links] meet by their names, so any of them will do.
void take_any(Settings& machine, const Team& team) {
    Names chosen, before = hosts_before(team);
    for (const bool wanted : {true, false})
        for (const std::string& host : team.usable)
            if ((contains(before, host) || host == team.first) == wanted &&
                int(chosen.size()) < team.hosts)
                chosen.push_back(host);
    const bool same = int(before.size()) == team.hosts;
    if (!same) sort_as_in(team.usable, chosen);
    const Origin origin{Origin::Kind::flag, team.why};
    const auto dimensions = int(machine[setting::dims].size());
    machine.set(
        setting::dims,
        same ? (*team.before)[setting::dims] : routing::balanced_dims(team.hosts, dimensions),
        origin);
    if (same)
        machine.set(setting::periodic, (*team.before)[setting::periodic],
                    team.before->origin(setting::periodic));
    machine.set(setting::hosts, Hosts{in_their_places(chosen, before), {}}, origin);
}

// ---- A graph ----

std::vector<Cables::Cable> cables_of(const Settings& machine) {
    if (machine[setting::cables].nodes) return machine[setting::cables].list;
    const Names& hosts = host_names(machine);
    const routing::Torus torus = *node_torus(machine);
    std::vector<Cables::Cable> cables;
    for (int node = 0; node < torus.size(); ++node)
        for (int d = 0; d < torus.dimensions(); ++d) {
            const routing::Direction up{d, +1}, down{d, -1};
            const auto other = torus.neighbour(node, up);
            if (!other) continue;
            Cables::Cable cable{{hosts[std::size_t(node)], link_device(machine, node, up)},
                                {hosts[std::size_t(*other)], link_device(machine, *other, down)}};
            if (!cable.one.device.empty() && !cable.other.device.empty())
                cables.push_back(std::move(cable));
        }
    return cables;
}

class Growth {
  public:
    Growth(const Settings& machine, const Team& team)
        : team_(team), before_(hosts_before(team)), cables_(cables_of(machine)) {
        for (std::size_t i = 0; i < team.usable.size(); ++i) place_[team.usable[i]] = int(i);
        for (const auto& [one, other] : cables_) {
            if (!place_.contains(one.host) || !place_.contains(other.host)) continue;
            next_to_[one.host].push_back(other.host);
            next_to_[other.host].push_back(one.host);
        }
    }

    // As many hosts as are needed, which cables join; empty if there are none.
    Names joined() const {
        if (Names found = named_first(); !found.empty()) return found;
        Names from = before_;
        from.insert(from.begin(), team_.first);
        from.insert(from.end(), team_.usable.begin(), team_.usable.end());
        std::set<std::string> tried;
        for (const std::string& host : from) {
            if (!place_.contains(host) || tried.contains(host)) continue;
            const Names found = grow(host, int(place_.size()), tried);
            if (int(found.size()) == team_.hosts) return found;
        }
        return {};
    }

    std::vector<Cables::Cable> between(const Names& hosts) const {
        const std::set<std::string> ends(hosts.begin(), hosts.end());
        std::vector<Cables::Cable> kept;
        for (const Cables::Cable& cable : cables_)
            if (ends.contains(cable.one.host) && ends.contains(cable.other.host))
                kept.push_back(cable);
        return kept;
    }

  private:
    // At the first start the usable hosts that are named first, if cables join them and the wanted
    // one is among them.
    Names named_first() const {
        const auto wanted = place_.find(team_.first);
        if (team_.before || (wanted != place_.end() && wanted->second >= team_.hosts)) return {};
        std::set<std::string> tried;
        Names found = grow(team_.usable.front(), team_.hosts, tried);
        return int(found.size()) == team_.hosts ? found : Names();
    }

    // Adds one neighbour after the other: hosts of the job before others, then the one with the
    // most cables to those that are chosen, then in the order of preference, of which only the
    // first `most` are taken.
    Names grow(const std::string& start, int most, std::set<std::string>& tried) const {
        Names chosen{start};
        std::map<std::string, int> border;
        for (std::string added = start;;) {
            tried.insert(added);
            border.erase(added);
            if (int(chosen.size()) == team_.hosts) return chosen;
            if (const auto found = next_to_.find(added); found != next_to_.end())
                for (const std::string& host : found->second)
                    if (!tried.contains(host) && place_.at(host) < most) ++border[host];
            if (border.empty()) return chosen;
            const auto rank = [this](const auto& entry) {
                return std::tuple(!contains(before_, entry.first), -entry.second,
                                  place_.at(entry.first));
            };
            added =
                std::min_element(border.begin(), border.end(), [&](const auto& a, const auto& b) {
                    return rank(a) < rank(b);
                })->first;
            chosen.push_back(added);
        }
    }

    const Team& team_;
    const Names before_;
    const std::vector<Cables::Cable> cables_;
    std::map<std::string, int> place_;  // of the usable hosts
    std::map<std::string, Names> next_to_;
};

std::string no_cables(const Team& team) {
    constexpr std::size_t most_named = 16;
    const std::size_t usable = team.usable.size();
    return fmt::format(
        "{}: no cables connect {} of {}: expected hosts that cables connect to each other",
        team.why, plural(team.hosts, "host"),
        usable > most_named ? fmt::format("these {}", usable) : base::listed(team.usable));
}

std::string take_graph(Settings& machine, const Team& team) {
    const Growth growth(machine, team);
    Names chosen = growth.joined();
    if (chosen.empty()) return no_cables(team);
    const Names before = hosts_before(team);
    if (before.size() == chosen.size())
        chosen = in_their_places(chosen, before);
    else
        sort_as_in(team.usable, chosen);
    const Origin origin{Origin::Kind::flag, team.why}, unset;
    const bool alone = team.hosts == 1;
    Settings settings = machine;
    settings.set(setting::periodic, {}, unset);
    settings.set(setting::links, {}, unset);
    settings.set(setting::host_links, {}, unset);
    settings.set(setting::ranks_per_node, {}, unset);
    settings.set(setting::dims, {team.hosts}, origin);
    settings.set(setting::hosts, Hosts{chosen, {}}, origin);
    settings.set(setting::cables,
                 Cables{alone ? std::vector<Cables::Cable>() : growth.between(chosen), nullptr},
                 alone ? unset : origin);
    set_ranks_per_host(settings, team.ranks_per_host, team.why);
    try {
        complete(settings, {});
    } catch (const ConfigError& error) {
        return error.what();  // more ranks or cables than a graph may have
    }
    machine = std::move(settings);
    return {};
}

}  // namespace

bool has_box(const Settings& machine, const Team& team) {
    return int(team.usable.size()) >= team.hosts && has_links(machine) &&
           find_box(machine, team).has_value();
}

std::string fit_living(Settings& machine, const Team& team) {
    if (int(team.usable.size()) < team.hosts || team.hosts < 1)
        return fmt::format("{}: {} of {} can be used", team.why, team.usable.size(),
                           plural(team.hosts, "host"));
    if (machine[setting::cables].nodes) return take_graph(machine, team);
    if (!has_links(machine))
        take_any(machine, team);
    else if (const auto box = find_box(machine, team))
        keep_box(machine, *box, team.why);
    else
        return take_graph(machine, team);
    set_ranks_per_host(machine, team.ranks_per_host, team.why);
    return {};
}

void set_ranks_per_host(Settings& settings, int ranks, const std::string& why) {
    if (ranks == ranks_on_a_node(settings)) return;
    std::vector<int> block(settings[setting::dims].size(), 1);
    block.back() = ranks;
    settings.set(setting::ranks_per_node, std::move(block), {Origin::Kind::flag, why});
}

void check_hosts(const Names& names, const Settings& machine, const std::string& option) {
    const Names& hosts = host_names(machine);
    for (const std::string& name : names) {
        if (std::count(names.begin(), names.end(), name) > 1)
            throw ConfigError(fmt::format("{} names {} twice", option, name));
        if (contains(hosts, name)) continue;
        const std::string_view meant = base::nearest(name, {hosts.begin(), hosts.end()});
        throw ConfigError(
            fmt::format("{}: {} is not in nodes.hosts{}", option, name,
                        meant.empty() ? "" : fmt::format("; did you mean {}?", meant)));
    }
}

// Spares are hosts of the machine, and at least one host is none.
void check_spares(const Settings& settings) {
    const Spares& spares = settings[setting::spares];
    const std::vector<std::string>& hosts = host_names(settings);
    if (spares.count == 0) return;
    const auto refuse = [&](const std::string& why) {
        throw ConfigError(settings.origin(setting::spares).where + ": " + why);
    };
    if (hosts.empty())
        refuse("nodes.spares needs nodes.hosts, which is not set: spares are some of its hosts");
    check_hosts(spares.names, settings, settings.origin(setting::spares).where + ": nodes.spares");
    if (spares.count >= int(hosts.size()))
        refuse(
            fmt::format("nodes.spares leaves {} free, but nodes.hosts has {}: expected at most "
                        "{}, since ranks need a host",
                        plural(spares.count, "host"), hosts.size(), hosts.size() - 1));
}

}  // namespace torusmp::config

// SPDX-License-Identifier: BSD-3-Clause
// torus.cables: the cables of a graph that is not a torus.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/text.h"
#include "config/check_parts.h"
#include "config/geometry.h"
#include "config/geometry_text.h"

namespace torusmp::config::check {

namespace {

class CableList {
  public:
    CableList(const Settings& settings, const Locations& locations)
        : settings_(settings), locations_(locations), cables_(settings[setting::cables]) {}

    std::shared_ptr<const routing::Graph> graph() {
        std::vector<std::pair<int, int>> ends;
        for (std::size_t i = 0; i < cables_.list.size(); ++i) {
            const auto& [one, other] = cables_.list[i];
            ends.push_back({take_end(i, one), take_end(i, other)});
            if (ends.back().first == ends.back().second)
                fail(i, fmt::format("both ends are on {}: expected two hosts", one.host));
        }
        const int size = int(host_names(settings_).size());
        check_numbers(ends);
        check_connected(ends);
        const auto assigned = routing::assign_directions(size, ends);
        return std::make_shared<const routing::Graph>(size, assigned);
    }

  private:
    [[noreturn]] void fail(std::size_t i, const std::string& why) const {
        const auto& [one, other] = cables_.list[i];
        refuse_at(locate(locations_, settings_.origin(setting::cables),
                         fmt::format("torus.cables.{}", i)),
                  fmt::format("cable \"{} {} - {} {}\" of torus.cables: {}", one.host, one.device,
                              other.host, other.device, why));
    }

    int take_end(std::size_t i, const Cables::End& end) {
        const std::vector<std::string>& hosts = host_names(settings_);
        const auto found = std::find(hosts.begin(), hosts.end(), end.host);
        if (found == hosts.end()) {
            const std::string_view meant = base::nearest(end.host, {hosts.begin(), hosts.end()});
            fail(i, fmt::format("{} is not in nodes.hosts{}", end.host,
                                meant.empty() ? "" : fmt::format("; did you mean {}?", meant)));
        }
        const auto [first, fresh] = used_.emplace(end, i);
        if (!fresh)
            fail(i, fmt::format("{} {} is also an end of cable {} of the list: expected a separate "
                                "device for each cable",
                                end.host, end.device, first->second + 1));
        return int(found - hosts.begin());
    }

    void check_numbers(const std::vector<std::pair<int, int>>& ends) const {
        const auto& hosts = host_names(settings_);
        const int each = ranks_on_a_node(settings_);
        const int most = 2 * (routing::max_dimensions - (each > 1 ? 1 : 0));
        std::vector<int> count(hosts.size());
        for (const auto& [one, other] : ends) {
            ++count[std::size_t(one)];
            ++count[std::size_t(other)];
        }
        const auto largest = std::max_element(count.begin(), count.end());
        if (*largest > most)
            refuse(settings_, setting::cables,
                   fmt::format("torus.cables gives {} {} cables: expected at most {}{}",
                               hosts[std::size_t(largest - count.begin())], *largest, most,
                               each > 1 ? " where a host has several ranks" : ""));
        if (std::int64_t(hosts.size()) * each > routing::max_graph_ranks)
            refuse(settings_, setting::cables,
                   fmt::format(
                       "torus.cables connects {} hosts with {} each: expected at most {} ranks "
                       "in all, since the cables do not form a torus",
                       hosts.size(), plural(each, "rank"), routing::max_graph_ranks));
    }

    void check_connected(const std::vector<std::pair<int, int>>& ends) const {
        const auto& hosts = host_names(settings_);
        std::vector<bool> reached(hosts.size());
        reached[0] = true;
        for (bool more = true; std::exchange(more, false);)
            for (const auto& [one, other] : ends)
                if (reached[std::size_t(one)] != reached[std::size_t(other)])
                    reached[std::size_t(one)] = reached[std::size_t(other)] = more = true;
        std::vector<std::string> with, without;
        for (std::size_t node = 0; node < hosts.size(); ++node)
            (reached[node] ? with : without).push_back(hosts[node]);
        if (!without.empty())
            refuse(settings_, setting::cables,
                   fmt::format(
                       "torus.cables does not connect all hosts: no cable leads from {} to {}. "
                       "Add one, or remove the hosts that are not cabled from nodes.hosts",
                       base::listed(with), base::listed(without)));
    }

    const Settings& settings_;
    const Locations& locations_;
    const Cables& cables_;
    std::map<Cables::End, std::size_t> used_;
};

void exclude(const Settings& settings, const AnySetting& setting, bool given,
             std::string_view name) {
    if (given)
        refuse(settings, setting,
               fmt::format("{} and torus.cables ({}) exclude each other: torus.cables is for "
                           "cables that do not form a torus",
                           name, settings.origin(setting::cables).where));
}

}  // namespace

// The nodes of a graph are numbered in the order of their hosts.
void complete_cables(Settings& settings, const Locations& locations) {
    if (settings[setting::cables].list.empty()) return;
    exclude(settings, setting::periodic, !settings[setting::periodic].empty(), "torus.periodic");
    exclude(settings, setting::links, !settings[setting::links].empty(), "[links]");
    exclude(settings, setting::host_links, !settings[setting::host_links].empty(),
            "[links.\"host\"]");
    const int size = int(host_names(settings).size());
    if (size < 2)
        refuse(settings, setting::cables,
               "torus.cables needs nodes.hosts, the list of its hosts in rank order");
    const std::vector<int> line{size};
    exclude(settings, setting::dims,
            !settings[setting::dims].empty() && settings[setting::dims] != line, "torus.dims");
    settings.set(setting::dims, line, settings.origin(setting::cables));
    Cables cables = settings[setting::cables];
    cables.nodes = CableList(settings, locations).graph();
    settings.set(setting::cables, std::move(cables), settings.origin(setting::cables));
}

}  // namespace torusmp::config::check

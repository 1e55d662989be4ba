// SPDX-License-Identifier: BSD-3-Clause
// [links] and the tables of hosts: the devices of links against the directions of the torus.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/text.h"
#include "config/check_parts.h"
#include "config/geometry.h"
#include "config/geometry_text.h"

namespace torusmp::config::check {

namespace {

using Links = std::map<std::string, std::string>;

int dimension_of(const std::string& direction) {
    return direction[0] - '0';
}

bool wraps(const Settings& settings, std::size_t dimension) {
    return settings[setting::periodic].empty() || settings[setting::periodic][dimension];
}

// A table of links as named in the file, with the data needed to report the location of an error.
struct LinkTable {
    const Settings& settings;
    const Locations& locations;
    const Origin& origin;
    std::string name;  // "[links]"
    std::string part;  // prefix of the names in `locations`: "links."
    const Links& links;

    [[noreturn]] void refuse(const std::string& direction, const std::string& message) const {
        refuse_at(locate(locations, origin, part + direction), message);
    }
};

void check_directions(const LinkTable& table) {
    const std::vector<int>& extents = table.settings[setting::dims];
    for (const auto& [direction, device] : table.links) {
        const auto dimension = std::size_t(dimension_of(direction));
        std::string why;
        if (dimension >= extents.size())
            why = fmt::format("only has dimensions 0 to {}", extents.size() - 1);
        else if (extents[dimension] == 1)
            why = fmt::format("has size 1 and no links in dimension {}", dimension);
        if (!why.empty())
            table.refuse(direction,
                         fmt::format("{} gives \"{}\" the device {}, but {} {}", table.name,
                                     direction, device, cite_dims(table.settings), why));
    }
}

// Whether a node has a link in that direction; at the edge of an open mesh it has none.
bool has_link(const Settings& settings, const std::vector<int>& coordinates,
              const std::string& direction) {
    const auto d = std::size_t(dimension_of(direction));
    if (wraps(settings, d)) return true;
    return direction[1] == '+' ? coordinates[d] + 1 < settings[setting::dims][d]
                               : coordinates[d] > 0;
}

// Whether some node has both links: in an open mesh of two, no node has both directions of that
// dimension.
bool may_meet(const Settings& settings, const std::string& a, const std::string& b) {
    if (dimension_of(a) != dimension_of(b)) return true;
    const auto d = std::size_t(dimension_of(a));
    return wraps(settings, d) || settings[setting::dims][d] > 2;
}

// `all` contains the links of the table and the inherited ones.
template <class Together>
void check_devices(const LinkTable& table, const Links& all, Together together) {
    for (auto a = all.begin(); a != all.end(); ++a)
        for (auto b = std::next(a); b != all.end(); ++b)
            if (a->second == b->second && together(a->first, b->first))
                table.refuse(table.links.count(b->first) ? b->first : a->first,
                             fmt::format("links \"{}\" and \"{}\" of {} both have the device {}: "
                                         "expected one device per link",
                                         a->first, b->first, table.name, a->second));
}

// Row by row, the last dimension fastest.
std::vector<int> coordinates_of(const Settings& settings, std::size_t node) {
    std::vector<int> coordinates(settings[setting::dims].size());
    for (std::size_t d = coordinates.size(); d-- > 0;) {
        const auto extent = std::size_t(settings[setting::dims][d]);
        coordinates[d] = int(node % extent);
        node /= extent;
    }
    return coordinates;
}

std::size_t find_host(const LinkTable& table, const std::string& host) {
    const std::vector<std::string>& hosts = host_names(table.settings);
    const auto found = std::find(hosts.begin(), hosts.end(), host);
    if (found != hosts.end()) return std::size_t(found - hosts.begin());
    const std::string_view meant = base::nearest(host, {hosts.begin(), hosts.end()});
    table.refuse("",
                 fmt::format("{}: this host is not in nodes.hosts{}", table.name,
                             meant.empty() ? "" : fmt::format("; did you mean \"{}\"?", meant)));
}

// Checks a host that has a table of its own.
void check_host_links(const LinkTable& table, const std::string& host) {
    const Settings& settings = table.settings;
    check_directions(table);
    Links all = table.links;
    all.insert(settings[setting::links].begin(), settings[setting::links].end());
    if (host_names(settings).empty()) {  // the mapping of hosts to nodes is not known
        check_devices(table, all,
                      [&](const auto& a, const auto& b) { return may_meet(settings, a, b); });
        return;
    }
    const std::vector<int> coordinates = coordinates_of(settings, find_host(table, host));
    for (const auto& [direction, device] : table.links)
        if (!has_link(settings, coordinates, direction))
            table.refuse(direction,
                         fmt::format("{} gives \"{}\" the device {}, but the host is at "
                                     "({}), the edge of the open dimension {}",
                                     table.name, direction, device, fmt::join(coordinates, ", "),
                                     dimension_of(direction)));
    check_devices(table, all, [&](const auto& a, const auto& b) {
        return has_link(settings, coordinates, a) && has_link(settings, coordinates, b);
    });
}

}  // namespace

void check_links(const Settings& settings, const Locations& locations) {
    if (!settings[setting::links].empty()) {
        need_dims(settings, setting::links, "[links]", "describe the torus that the links form");
        const LinkTable table{settings,  locations, settings.origin(setting::links),
                              "[links]", "links.",  settings[setting::links]};
        check_directions(table);
        check_devices(table, settings[setting::links],
                      [&](const auto& a, const auto& b) { return may_meet(settings, a, b); });
    }
    if (!settings[setting::host_links].empty())
        need_dims(settings, setting::host_links, "[links.\"host\"]",
                  "describe the torus that the links form");
    for (const auto& [host, links] : settings[setting::host_links])
        check_host_links(
            {settings, locations, settings.origin(setting::host_links),
             fmt::format("[links.\"{}\"]", host), fmt::format("links.hosts.{}/", host), links},
            host);
}

}  // namespace torusmp::config::check

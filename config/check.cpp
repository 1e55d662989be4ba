// SPDX-License-Identifier: BSD-3-Clause
#include "config/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "config/geometry.h"
#include "config/geometry_text.h"
#include "config/living.h"

namespace torusmp::config {

namespace {

[[noreturn]] void refuse_at(const std::string& where, const std::string& message) {
    throw ConfigError(where + ": " + message);
}

[[noreturn]] void refuse(const Settings& settings, const AnySetting& setting,
                         const std::string& message) {
    refuse_at(settings.origin(setting).where, message);
}

// The line of a part if it is known, otherwise the line of the whole value.
std::string locate(const Locations& locations, const Origin& origin, const std::string& part) {
    const auto found = locations.find(part);
    return origin.kind == Origin::Kind::file && found != locations.end() ? found->second
                                                                         : origin.where;
}

void need_dims(const Settings& settings, const AnySetting& setting, std::string_view name,
               const std::string& advice) {
    if (settings[setting::dims].empty())
        refuse(settings, setting,
               fmt::format("{} needs torus.dims, which is not set: {}", name, advice));
}

void check_lengths(const Settings& settings) {
    const std::size_t dimensions =
        settings[setting::dims].empty() ? balanced_dimensions : settings[setting::dims].size();
    const std::string reason = settings[setting::dims].empty()
                                   ? "a balanced torus (torus.dims is not set)"
                                   : cite_dims(settings);
    const auto check = [&](const auto& setting) {
        const auto& value = settings[setting];
        if (!value.empty() && value.size() != dimensions)
            refuse(
                settings, setting,
                fmt::format("{} has {}: expected {}, one for each dimension of {}", setting.key(),
                            plural(std::int64_t(value.size()), "value"), dimensions, reason));
    };
    check(setting::periodic);
    if (!settings[setting::ranks_per_node].empty())
        need_dims(settings, setting::ranks_per_node, "torus.ranks_per_node",
                  "it splits each node of a torus");
    check(setting::ranks_per_node);
    if (product(settings[setting::dims]) * product(settings[setting::ranks_per_node]) > max_ranks)
        refuse(
            settings, setting::ranks_per_node,
            fmt::format("torus.ranks_per_node = {} with {} makes more than {} ranks",
                        joined(settings[setting::ranks_per_node]), cite_dims(settings), max_ranks));
}

// ---- Hosts ----

// One piece of a pattern: text, optionally followed by a coordinate.
struct Piece {
    std::string words;
    int dimension = -1;  // -1 if none
    int width = 0;       // padded with zeros to this width
};

std::vector<Piece> parse_pattern(const Settings& settings) {
    const std::string& pattern = settings[setting::hosts].pattern;
    const auto fail = [&](const std::string& why) {
        refuse(
            settings, setting::hosts,
            fmt::format("nodes.hosts is \"{}\" ({}): expected {{0}} to {{{}}}, or {{0:02}} for two "
                        "digits, in place of each coordinate",
                        base::printable(pattern), why, settings[setting::dims].size() - 1));
    };
    std::vector<Piece> pieces(1);
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '}') fail("a } without {");
        if (pattern[i] != '{') {
            pieces.back().words += pattern[i];
            continue;
        }
        const std::size_t end = pattern.find('}', i);
        if (end == std::string::npos) fail("a { without }");
        const std::string inside = pattern.substr(i + 1, end - i - 1);
        const auto digit = [&](std::size_t at) {
            return at < inside.size() && inside[at] >= '0' && inside[at] <= '9';
        };
        const bool plain = inside.size() == 1 && digit(0);
        const bool padded =
            inside.size() == 4 && digit(0) && inside[1] == ':' && inside[2] == '0' && digit(3);
        if (!plain && !padded)
            fail(fmt::format("{{{}}} is not a coordinate", base::printable(inside)));
        pieces.back().dimension = inside[0] - '0';
        pieces.back().width = padded ? inside[3] - '0' : 0;
        if (std::size_t(pieces.back().dimension) >= settings[setting::dims].size())
            fail(fmt::format("dimension {} does not exist in {}", inside[0], cite_dims(settings)));
        pieces.emplace_back();
        i = end;
    }
    return pieces;
}

std::string host_at(const std::vector<Piece>& pieces, const std::vector<int>& coordinates) {
    std::string name;
    for (const Piece& piece : pieces) {
        name += piece.words;
        if (piece.dimension >= 0)
            name += fmt::format("{:0{}}", coordinates[std::size_t(piece.dimension)], piece.width);
    }
    return name;
}

// Row by row, the last dimension fastest; false after the last.
bool advance(std::vector<int>& coordinates, const std::vector<int>& extents) {
    for (std::size_t d = extents.size(); d-- > 0;) {
        if (++coordinates[d] < extents[d]) return true;
        coordinates[d] = 0;
    }
    return false;
}

void expand_pattern(Settings& settings) {
    const std::vector<Piece> pieces = parse_pattern(settings);
    const std::vector<int>& extents = settings[setting::dims];
    for (std::size_t d = 0; d < extents.size(); ++d) {
        const bool used = std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
            return piece.dimension == int(d);
        });
        if (extents[d] > 1 && !used)
            refuse(settings, setting::hosts,
                   fmt::format("nodes.hosts is \"{}\": the pattern does not use the coordinate of "
                               "dimension {}, so {} nodes of {} would share a name. Add {{{}}}",
                               base::printable(settings[setting::hosts].pattern), d, extents[d],
                               cite_dims(settings), d));
    }
    Hosts hosts = settings[setting::hosts];
    std::vector<int> coordinates(extents.size(), 0);
    do hosts.names.push_back(host_at(pieces, coordinates));
    while (advance(coordinates, extents));
    settings.set(setting::hosts, std::move(hosts));
}

// A pattern may produce names that are not legal in a list.
void check_pattern_name(const Settings& settings, const std::string& name) {
    if (!legal_host_name(name))
        refuse(
            settings, setting::hosts,
            fmt::format("nodes.hosts is \"{}\": \"{}\" cannot be the name of a host",
                        base::printable(settings[setting::hosts].pattern), base::printable(name)));
}

void check_host_count(const Settings& settings) {
    const std::vector<std::string>& hosts = host_names(settings);
    const std::int64_t nodes = product(settings[setting::dims]);
    if (std::int64_t(hosts.size()) == nodes) return;
    const std::string found =
        hosts.size() == 1 ? fmt::format("names 1 host, \"{}\"", base::printable(hosts.front()))
                          : fmt::format("lists {} hosts", hosts.size());
    refuse(settings, setting::hosts,
           fmt::format("nodes.hosts {}, but {} has {}: expected {}, or a pattern that uses the "
                       "coordinates, for example \"qcd{{0}}\"",
                       found, cite_dims(settings), plural(nodes, "node"), plural(nodes, "name")));
}

void check_hosts(Settings& settings, const Locations& locations) {
    if (host_names(settings).empty() && settings[setting::hosts].pattern.empty()) return;
    need_dims(settings, setting::hosts, "nodes.hosts",
              fmt::format("describe how the hosts are wired; torus-check --discover torus.toml "
                          "--hosts {} finds it out, and --config torus.toml uses the file",
                          host_names(settings).empty()
                              ? std::string("HOST,HOST,...")
                              : fmt::format("{}", fmt::join(host_names(settings), ","))));
    if (!settings[setting::hosts].pattern.empty()) {
        expand_pattern(settings);
        check_pattern_name(settings, host_names(settings).front());
    }
    check_host_count(settings);
    std::unordered_map<std::string_view, std::size_t> seen;
    for (std::size_t i = 0; i < host_names(settings).size(); ++i) {
        const auto [first, fresh] = seen.emplace(host_names(settings)[i], i);
        if (fresh) continue;
        refuse_at(
            locate(locations, settings.origin(setting::hosts), fmt::format("nodes.hosts.{}", i)),
            fmt::format("nodes.hosts names \"{}\" twice, for nodes {} and {}: expected a "
                        "different host for each node{}",
                        host_names(settings)[i], first->second, i,
                        settings[setting::hosts].pattern.empty()
                            ? ""
                            : ", for example with a \"-\" between the coordinates"));
    }
}

// ---- Cables of another graph ----

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
            fail(i, fmt::format("{} {} is also the end of cable {} of the list: expected a device "
                                "of its own for each cable",
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
                   fmt::format("torus.cables joins {} hosts with {} each: expected at most {} ranks "
                               "on cables that form no torus",
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
                   fmt::format("torus.cables does not join all hosts: no cable leads from {} to {}. "
                               "Add one, or remove the hosts that are not cabled from nodes.hosts",
                               base::listed(with), base::listed(without)));
    }

    const Settings& settings_;
    const Locations& locations_;
    const Cables& cables_;
    std::map<Cables::End, std::size_t> used_;
};

void exclude(const Settings& settings, const AnySetting& setting, bool given, std::string_view name) {
    if (given)
        refuse(settings, setting,
               fmt::format("{} and torus.cables ({}) exclude each other: torus.cables describes "
                           "cables that form no torus",
                           name, settings.origin(setting::cables).where));
}

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

// ---- Links ----

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

// `all`: the links of the table and the inherited ones.
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

}  // namespace

void complete(Settings& settings, const Locations& locations) {
    complete_cables(settings, locations);
    check_lengths(settings);
    check_hosts(settings, locations);
    check_spares(settings);
    check_links(settings, locations);
}

}  // namespace torusmp::config

// SPDX-License-Identifier: BSD-3-Clause
// nodes.hosts: a list, or a pattern of the coordinates.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "config/check_parts.h"
#include "config/geometry.h"
#include "config/geometry_text.h"

namespace torusmp::config::check {

namespace {

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

}  // namespace

void complete_hosts(Settings& settings, const Locations& locations) {
    if (host_names(settings).empty() && settings[setting::hosts].pattern.empty()) return;
    need_dims(settings, setting::hosts, "nodes.hosts",
              fmt::format("describe how the hosts are wired; torus-check --discover torus.toml "
                          "--hosts {} writes a file that describes it, for --config torus.toml",
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

}  // namespace torusmp::config::check

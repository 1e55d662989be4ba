// SPDX-License-Identifier: BSD-3-Clause
#include "config/cable.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/geometry.h"
#include "config/geometry_text.h"

namespace torusmp::config {

std::string host_of(const Settings& settings, const CableEnd& end) {
    const auto& hosts = host_names(settings);
    if (std::size_t(end.node) < hosts.size()) return hosts[std::size_t(end.node)];
    return fmt::format("node {}", end.node);
}

std::string device_of(const Settings& settings, const CableEnd& end) {
    return link_device(settings, end.node, end.direction);
}

std::string describe_end(const Settings& settings, const CableEnd& end) {
    return fmt::format("{} of {}", device_of(settings, end), host_of(settings, end));
}

std::string describe_link(const Settings& settings, const CableEnd& one, const CableEnd& other) {
    const std::string ours = device_of(settings, one), theirs = device_of(settings, other);
    if (settings[setting::cables].nodes)
        return fmt::format("the cable from {} {} to {} {}", host_of(settings, one), ours,
                           host_of(settings, other), theirs);
    return fmt::format("link {} of {} to {} ({} to {})", direction_name(one.direction),
                       host_of(settings, one), host_of(settings, other),
                       ours.empty() ? "no device" : ours, theirs.empty() ? "no device" : theirs);
}

std::vector<routing::Link> links_over(const Settings& settings, const routing::Torus& ranks,
                                      std::span<const routing::Link> cables) {
    std::vector<routing::Link> links;
    if (cables.empty()) return links;
    for (routing::Rank rank = 0; rank < ranks.size(); ++rank)
        for (int d = 0; d < ranks.link_dimensions(); ++d)
            if (const auto cable = cable_under(settings, ranks, rank, {d, +1});
                cable && std::find(cables.begin(), cables.end(), *cable) != cables.end())
                links.push_back({rank, d});
    return links;
}

std::optional<routing::Link> cable_under(const Settings& settings, const routing::Torus& ranks,
                                         routing::Rank rank, routing::Direction direction) {
    const auto next = ranks.neighbour(rank, direction);
    const int node = node_of(settings, rank);
    if (!next || node_of(settings, *next) == node) return std::nullopt;
    return routing::link_by(*node_torus(settings), node, direction);
}

std::optional<routing::Link> cable_at(const Settings& settings, int node, std::string_view device) {
    const routing::Torus torus = *node_torus(settings);
    for (int i = 0; i < 2 * torus.link_dimensions(); ++i) {
        const auto direction = routing::Direction::from_index(i);
        if (torus.neighbour(node, direction) && link_device(settings, node, direction) == device)
            return routing::link_by(torus, node, direction);
    }
    return std::nullopt;
}

std::vector<int> nodes_along(const Settings& settings, routing::Rank from,
                             std::span<const routing::Hop> way) {
    std::vector<int> nodes{node_of(settings, from)};
    for (const routing::Hop& hop : way)
        if (const int node = node_of(settings, hop.rank); node != nodes.back())
            nodes.push_back(node);
    return nodes;
}

std::string describe_cable(const Settings& settings, const routing::Link& cable) {
    const auto end = [&](int node, routing::Direction direction) {
        const std::string device = link_device(settings, node, direction);
        return fmt::format("{} {}{}", host_of(settings, {node, direction}),
                           device.empty() ? "(no device)" : device,
                           direction_note(settings, direction));
    };
    const auto torus = *node_torus(settings);
    return end(cable.rank, cable.direction()) + " to " +
           end(routing::far_end(torus, cable), cable.direction().opposite());
}

std::string describe_detour(const Settings& settings, std::span<const int> nodes) {
    if (nodes.size() <= 2) return "the other cable between them";
    std::vector<std::string> names;
    for (const int node : nodes.subspan(1, nodes.size() - 2))
        names.push_back(host_of(settings, {node, {}}));
    return base::listed(std::move(names));
}

std::string describe_parts(const Settings& settings, const routing::Parts& parts) {
    std::vector<std::vector<std::string>> sides(std::size_t(parts.count()));
    for (int node = 0; node < parts.torus().size(); ++node)
        sides[std::size_t(parts.of(node))].push_back(host_of(settings, {node, {}}));
    if (sides.size() == 2)
        return fmt::format("{} on one side, {} on the other", base::listed(std::move(sides[0])),
                           base::listed(std::move(sides[1])));
    std::vector<std::string> texts;
    for (auto& side : sides) texts.push_back(base::listed(std::move(side)));
    return fmt::format("{} parts: {}", sides.size(), fmt::join(texts, "; "));
}

}  // namespace torusmp::config

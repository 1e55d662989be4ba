// SPDX-License-Identifier: BSD-3-Clause
// The names of links and hosts in the settings.
#include <fmt/format.h>

#include "config/geometry.h"
#include "config/geometry_file.h"
#include "config/network.h"
#include "config/raw.h"

namespace torusmp::config {

using routing::Direction;

std::string direction_name(Direction direction) {
    return fmt::format("{}{}", direction.dimension, direction.sign > 0 ? '+' : '-');
}

std::string link_device(const Settings& settings, int node, Direction direction) {
    if (const Cables& cables = settings[setting::cables]; cables.nodes != nullptr)
        return end_of_cable(settings, node, direction);
    const std::string name = direction_name(direction);
    if (std::size_t(node) < host_names(settings).size()) {
        const auto own =
            settings[setting::host_links].find(host_names(settings)[std::size_t(node)]);
        if (own != settings[setting::host_links].end())
            if (const auto found = own->second.find(name); found != own->second.end())
                return found->second;
    }
    const auto found = settings[setting::links].find(name);
    return found == settings[setting::links].end() ? std::string() : found->second;
}

std::optional<int> find_host(const std::vector<std::string>& hosts, std::string_view name) {
    const auto short_name = [](std::string_view host) { return host.substr(0, host.find('.')); };
    for (std::size_t node = 0; node < hosts.size(); ++node)
        if (hosts[node] == name || short_name(hosts[node]) == short_name(name)) return int(node);
    return std::nullopt;
}

std::optional<int> find_node(const Settings& settings, const std::string& host) {
    return find_host(host_names(settings), host);
}

Locations read_locations(const Settings& settings) {
    Locations locations;
    if (settings.file().empty()) return locations;
    Settings scratch(settings.schema());
    apply_geometry(read_text_file(settings.file()), settings.file(), scratch, locations);
    return locations;
}

}  // namespace torusmp::config

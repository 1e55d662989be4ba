// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_info/links.h"

#include <fmt/format.h>

#include "base/printing.h"
#include "config/geometry.h"
#include "core/transport/choice.h"
#include "core/transport/machine.h"

namespace torusmp::config {

namespace {

LinkReport report_on(const Settings& settings, const CableEnd& end, int peer) {
    LinkReport link;
    link.direction = end.direction;
    link.device = link_device(settings, end.node, end.direction);
    link.to = host_names(settings)[std::size_t(peer)];
    try {
        const transport::LinkChoice choice =
            transport::choose_link(settings, end, {peer, end.direction.opposite(), nullptr}, false);
        link.carrier = choice.carrier->name;
        link.why = choice.warning.empty() ? choice.reason : choice.warning;
    } catch (const ConfigError& error) {
        link.why = error.what();
    }
    return link;
}

}  // namespace

std::vector<LinkReport> links_of(const Settings& settings, int node) {
    const routing::Torus torus = *node_torus(settings);
    const HostFacts facts = transport::facts_of_links(settings, node);
    std::vector<LinkReport> links;
    for (int i = 0; i < 2 * torus.dimensions(); ++i) {
        const auto direction = routing::Direction::from_index(i);
        const auto peer = torus.neighbour(node, direction);
        if (peer && *peer != node)
            links.push_back(report_on(settings, {node, direction, &facts}, *peer));
    }
    return links;
}

std::string links_text(const std::vector<LinkReport>& links) {
    std::vector<base::Row> rows{{"link", "device", "to", "carries", "why"}};
    for (const LinkReport& link : links)
        rows.push_back({direction_name(link.direction), link.device.empty() ? "?" : link.device,
                        link.to, link.carrier.empty() ? "nothing" : link.carrier, link.why});
    return base::format_table(rows);
}

std::string links_json(const std::vector<LinkReport>& links) {
    std::vector<std::string> parts;
    for (const LinkReport& link : links)
        parts.push_back(fmt::format(
            "{{\"direction\": {}, \"device\": {}, \"to\": {}, \"carrier\": {}, \"why\": {}}}",
            base::json_quote(direction_name(link.direction)), base::json_quote(link.device),
            base::json_quote(link.to),
            link.carrier.empty() ? "null" : base::json_quote(link.carrier),
            base::json_quote(link.why)));
    return base::json_enclose(parts, '[', ']', 1);
}

}  // namespace torusmp::config

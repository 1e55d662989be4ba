// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_info/links.h"

#include <fmt/format.h>

#include <set>

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
        const CableEnd far{peer, end.direction.opposite(), nullptr};
        const transport::LinkChoice choice = transport::choose_link(settings, end, far);
        const transport::LinkChoice crowded =
            transport::choose_link(settings, end, far, {.shares_cores = true});
        link.carrier = choice.carrier->name;
        link.why = choice.warning.empty() ? choice.reason : choice.warning;
        if (crowded.carrier != choice.carrier)
            link.why += fmt::format("; {} where ranks share processors", crowded.carrier->title);
        link.advice = choice.advice;
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
    std::string text = base::format_table(rows);
    std::set<std::string> told;
    for (const LinkReport& link : links)
        if (!link.advice.empty() && told.insert(link.advice).second)
            text += fmt::format("  {}\n", link.advice);
    return text;
}

std::string links_json(const std::vector<LinkReport>& links) {
    std::vector<std::string> parts;
    for (const LinkReport& link : links)
        parts.push_back(fmt::format(
            "{{\"direction\": {}, \"device\": {}, \"to\": {}, \"carrier\": {}, \"why\": {}, "
            "\"advice\": {}}}",
            base::json_quote(direction_name(link.direction)), base::json_quote(link.device),
            base::json_quote(link.to),
            link.carrier.empty() ? "null" : base::json_quote(link.carrier),
            base::json_quote(link.why), base::json_quote(link.advice)));
    return base::json_enclose(parts, '[', ']', 1);
}

}  // namespace torusmp::config

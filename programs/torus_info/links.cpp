// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_info/links.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/printing.h"
#include "config/geometry.h"
#include "config/geometry_text.h"
#include "config/types.h"
#include "core/transport/choice.h"
#include "core/transport/list.h"
#include "core/transport/machine.h"

namespace torusmp::torus_info {

using namespace config;

namespace {

LinkReport report_on(const Settings& settings, const CableEnd& end, int peer) {
    LinkReport link;
    link.link = config::link_name(settings, end.direction);
    link.device = link_device(settings, end.node, end.direction);
    link.to = host_names(settings)[std::size_t(peer)];
    try {
        const CableEnd far{peer, end.direction.opposite(), nullptr};
        const transport::LinkChoice choice = transport::choose_link(settings, end, far);
        const transport::LinkChoice shared =
            transport::choose_link(settings, end, far, {.shares_cores = true});
        link.carrier = choice.carrier->name;
        link.why = choice.warning.empty() ? choice.reason : choice.warning;
        if (shared.carrier != choice.carrier)
            link.why += fmt::format("; {} where ranks share processors", shared.carrier->title);
        link.advice = choice.advice;
    } catch (const ConfigError& error) {
        link.why = error.what();
    }
    return link;
}

// Longer lists of cables are printed as one line per direction.
constexpr std::size_t most_cable_lines = 32;

std::string link_text(const std::string& link) {
    return link.empty() ? "cable" : link;
}

std::string link_json(const std::string& link) {
    return link.empty() ? "null" : base::json_quote(link);
}

std::string device_text(const std::string& device) {
    return device.empty() ? "?" : device;
}

std::vector<base::Row> each_cable(const std::vector<CableReport>& cables,
                                  const std::string& carriers) {
    std::vector<base::Row> rows{{"link", "from", "device", "to", "device", "carries"}};
    for (const CableReport& cable : cables)
        rows.push_back({link_text(cable.link), cable.from, device_text(cable.device), cable.to,
                        device_text(cable.far_device), carriers});
    return rows;
}

std::vector<base::Row> each_direction(const std::vector<CableReport>& cables,
                                      const std::string& carriers) {
    struct Sum {
        int cables = 0;
        std::set<std::string> devices;
    };
    std::map<std::string, Sum> sums;
    for (const CableReport& cable : cables) {
        Sum& sum = sums[link_text(cable.link)];
        ++sum.cables;
        sum.devices.insert(
            fmt::format("{} to {}", device_text(cable.device), device_text(cable.far_device)));
    }
    std::vector<base::Row> rows{{"link", "cables", "devices", "carries"}};
    for (const auto& [direction, sum] : sums)
        rows.push_back(
            {direction, std::to_string(sum.cables),
             sum.devices.size() == 1
                 ? *sum.devices.begin()
                 : fmt::format("{} and {}", *sum.devices.begin(),
                               plural(std::int64_t(sum.devices.size()) - 1, "other pair")),
             carriers});
    return rows;
}

}  // namespace

std::vector<CableReport> cables_of(const Settings& settings) {
    const routing::Torus torus = *node_torus(settings);
    std::vector<CableReport> cables;
    for (int node = 0; node < torus.size(); ++node)
        for (int d = 0; d < torus.link_dimensions(); ++d) {
            const routing::Direction direction{d, +1};
            const auto peer = torus.neighbour(node, direction);
            if (!peer || *peer == node) continue;
            cables.push_back(
                {config::link_name(settings, direction), host_names(settings)[std::size_t(node)],
                 link_device(settings, node, direction), host_names(settings)[std::size_t(*peer)],
                 link_device(settings, *peer, direction.opposite())});
        }
    return cables;
}

std::vector<std::string> possible_carriers(const Settings& settings) {
    const transport::Descriptor* const wanted = transport::wanted_transport(settings);
    std::vector<std::string> names;
    for (const transport::Descriptor* it : transport::transports()) {
        if (it->inside_host || (wanted != nullptr && it != wanted)) continue;
        names.emplace_back(it->name);
        if (!it->needs_devices) break;
    }
    return names;
}

std::string cables_text(const Settings& settings) {
    const std::vector<CableReport> cables = cables_of(settings);
    const std::vector<std::string> carriers = possible_carriers(settings);
    const std::string carries = alternatives(carriers);
    std::string text =
        base::format_table(cables.size() <= most_cable_lines ? each_cable(cables, carries)
                                                             : each_direction(cables, carries));
    if (carriers.size() > 1)
        text +=
            "  The offers of the hosts at both ends decide: torus-check queries them, and "
            "torus-info on a host shows its own end.\n";
    return text;
}

std::string cables_json(const Settings& settings) {
    std::vector<std::string> carriers, parts;
    for (const std::string& name : possible_carriers(settings))
        carriers.push_back(base::json_quote(name));
    for (const CableReport& cable : cables_of(settings))
        parts.push_back(fmt::format(
            "{{\"direction\": {}, \"from\": {}, \"device\": {}, \"to\": {}, \"far_device\": {}, "
            "\"carriers\": [{}]}}",
            link_json(cable.link), base::json_quote(cable.from), base::json_quote(cable.device),
            base::json_quote(cable.to), base::json_quote(cable.far_device),
            fmt::join(carriers, ", ")));
    return base::json_enclose(parts, '[', ']', 1);
}

std::vector<LinkReport> links_of(const Settings& settings, int node) {
    const routing::Torus torus = *node_torus(settings);
    const HostFacts facts = transport::facts_of_links(settings, node);
    std::vector<LinkReport> links;
    for (int i = 0; i < 2 * torus.link_dimensions(); ++i) {
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
        rows.push_back({link_text(link.link), link.device.empty() ? "?" : link.device, link.to,
                        link.carrier.empty() ? "nothing" : link.carrier, link.why});
    std::string text = base::format_table(rows);
    std::set<std::string> reported;
    for (const LinkReport& link : links)
        if (!link.advice.empty() && reported.insert(link.advice).second)
            text += fmt::format("  {}\n", link.advice);
    return text;
}

std::string links_json(const std::vector<LinkReport>& links) {
    std::vector<std::string> parts;
    for (const LinkReport& link : links)
        parts.push_back(fmt::format(
            "{{\"direction\": {}, \"device\": {}, \"to\": {}, \"carrier\": {}, \"why\": {}, "
            "\"advice\": {}}}",
            link_json(link.link), base::json_quote(link.device), base::json_quote(link.to),
            link.carrier.empty() ? "null" : base::json_quote(link.carrier),
            base::json_quote(link.why), base::json_quote(link.advice)));
    return base::json_enclose(parts, '[', ']', 1);
}

}  // namespace torusmp::torus_info

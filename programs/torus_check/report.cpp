// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/printing.h"
#include "config/network.h"

namespace torusmp::torus_check {

namespace {

using base::json_enclose;
using base::json_quote;

std::string megabytes(const Rate& rate) {
    return fmt::format("{:.{}f}", rate.bytes_per_second / 1e6, rate.bytes_per_second < 1e7 ? 1 : 0);
}

std::string count(std::size_t number, const char* word) {
    return fmt::format("{} {}{}", number, word, number == 1 ? "" : "s");
}

// "118 MB/s, 117 back"
std::string describe_rates(const CableResult& cable) {
    if (cable.forth.bytes_per_second <= 0 || cable.back.bytes_per_second <= 0) return {};
    return fmt::format("{} MB/s, {} back", megabytes(cable.forth), megabytes(cable.back));
}

std::string cable_table(const CheckReport& report, bool all) {
    std::vector<base::Row> rows{{"cable from", "to", "verdict", "found"}};
    for (const CableResult& cable : report.cables) {
        if (all && cable.findings.empty())
            rows.push_back({describe(cable.a), describe(cable.b), "good", describe_rates(cable)});
        for (std::size_t i = 0; i < cable.findings.size(); ++i)
            rows.push_back({i == 0 ? describe(cable.a) : "", i == 0 ? describe(cable.b) : "",
                            name_of(cable.findings[i].fault), cable.findings[i].text});
    }
    return rows.size() > 1 ? base::format_table(rows) + "\n" : std::string();
}

std::string end_json(const LinkEnd& end) {
    return fmt::format("{{\"node\": {}, \"host\": {}, \"device\": {}, \"direction\": {}}}",
                       end.node, json_quote(end.host), json_quote(end.device),
                       end.link.empty() ? "null" : json_quote(end.link));
}

std::string rate_json(const Rate& rate) {
    if (rate.bytes_per_second <= 0) return "null";
    return fmt::format("{{\"megabytes_per_second\": {}, \"round_trip_us\": {}}}", megabytes(rate),
                       rate.round_trip.count());
}

std::string cable_json(const CableResult& cable) {
    std::vector<std::string> findings;
    for (const Finding& finding : cable.findings)
        findings.push_back(fmt::format("{{\"fault\": {}, \"text\": {}}}",
                                       json_quote(name_of(finding.fault)),
                                       json_quote(finding.text)));
    return fmt::format(
        "{{\"a\": {}, \"b\": {}, \"good\": {}, \"findings\": [{}], \"forth\": {}, \"back\": {}}}",
        end_json(cable.a), end_json(cable.b), cable.findings.empty(), fmt::join(findings, ", "),
        rate_json(cable.forth), rate_json(cable.back));
}

}  // namespace

bool CheckReport::good() const {
    return messages.empty() &&
           std::all_of(troubles.begin(), troubles.end(),
                       [](const std::string& trouble) { return trouble.empty(); }) &&
           std::all_of(cables.begin(), cables.end(),
                       [](const CableResult& cable) { return cable.findings.empty(); });
}

std::string verdict_line(const CheckReport& report) {
    std::string line = fmt::format("{}, {}: ", count(report.hosts.size(), "host"),
                                   count(report.cables.size(), "cable"));
    if (report.good()) return line + "all are good";
    std::map<Fault, int> faults;
    int good = 0;
    for (const CableResult& cable : report.cables)
        if (cable.findings.empty())
            ++good;
        else
            ++faults[cable.findings.front().fault];
    line += fmt::format("{} good", good);
    for (const auto& [fault, number] : faults)
        line += fmt::format(", {} {}", number, name_of(fault));
    if (faults.empty() && !report.messages.empty())
        line += ", but the settings do not match the hosts";
    return report.outlook.empty() ? line : line + "; " + report.outlook;
}

std::string report_text(const CheckReport& report, bool all) {
    std::string out;
    for (std::size_t node = 0; node < report.hosts.size(); ++node)
        if (!report.troubles[node].empty())
            out += fmt::format("host {} was not tested: {}\n", report.hosts[node],
                               report.troubles[node]);
    for (const std::string& message : report.messages) out += message + "\n";
    for (const std::string& note : report.notes) out += "note: " + note + "\n";
    if (!out.empty()) out += "\n";
    return out + cable_table(report, all) + verdict_line(report) + "\n";
}

std::string report_json(const CheckReport& report) {
    std::vector<std::string> hosts, messages, notes, cables;
    for (std::size_t node = 0; node < report.hosts.size(); ++node)
        hosts.push_back(fmt::format("{{\"name\": {}, \"trouble\": {}}}",
                                    json_quote(report.hosts[node]),
                                    json_quote(report.troubles[node])));
    for (const std::string& message : report.messages) messages.push_back(json_quote(message));
    for (const std::string& note : report.notes) notes.push_back(json_quote(note));
    for (const CableResult& cable : report.cables) cables.push_back(cable_json(cable));
    return json_enclose({fmt::format("\"good\": {}", report.good()),
                         fmt::format("\"verdict\": {}", json_quote(verdict_line(report))),
                         fmt::format("\"hosts\": {}", json_enclose(hosts, '[', ']', 1)),
                         fmt::format("\"messages\": {}", json_enclose(messages, '[', ']', 1)),
                         fmt::format("\"notes\": {}", json_enclose(notes, '[', ']', 1)),
                         fmt::format("\"cables\": {}", json_enclose(cables, '[', ']', 1))},
                        '{', '}', 0) +
           "\n";
}

}  // namespace torusmp::torus_check

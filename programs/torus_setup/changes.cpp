// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_setup/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "launch/agent.h"

namespace torusmp::torus_setup {

namespace {

constexpr const char* hosts_file = "/etc/hosts";
constexpr std::string_view text_end = "TORUSMP_END_OF_TEXT";

// A name with slashes may contain dots, which belong to a device.
std::string sysctl_path(std::string name) {
    if (name.find('/') == std::string::npos) std::replace(name.begin(), name.end(), '.', '/');
    return name;
}

std::string indented(const std::string& text, const char* before) {
    std::istringstream in(text);
    std::string out;
    for (std::string line; std::getline(in, line);) out += before + line + "\n";
    return out;
}

std::string with_text(const std::string& call, const std::string& text) {
    return fmt::format("{} <<'{}'\n{}{}\n", call, text_end, text, text_end);
}

std::string with_source(std::string text) {
    if (text.back() != '\n') text += '\n';
    return text + "source /etc/network/interfaces.d/*\n";
}

}  // namespace

Changes plan_changes(const config::NodePlan& plan, const config::NetplanFormat* format,
                     const std::string& names, const std::string& geometry, const Facts& facts) {
    Changes changes;
    std::istringstream batch(config::as_ip_batch(plan));
    for (std::string line; std::getline(batch, line);)
        if (!line.starts_with("#")) changes.batch += line + "\n";
    for (const auto& [name, value] : config::planned_sysctls(plan))
        changes.settings.emplace_back(sysctl_path(name), value);
    for (const config::PlannedLink& link : plan.links) changes.devices.push_back(link.device);
    if (format) changes.files = format->files(plan);
    if (facts.service == "ifupdown" && !facts.interfaces.empty())
        changes.files.push_back({"/etc/network/interfaces", with_source(facts.interfaces)});
    changes.files.push_back({"/etc/torusmp/cluster.toml", geometry});
    changes.files.push_back({hosts_file, config::with_hosts(facts.hosts, names)});
    return changes;
}

std::string describe(const Changes& changes, bool texts) {
    std::string out = indented(changes.batch, "  ip ");
    for (const auto& [name, value] : changes.settings)
        out += fmt::format("  sysctl {} = {}\n", name, value);
    for (const config::PlannedFile& file : changes.files) {
        out += fmt::format("  write {}\n", file.path);
        if (texts) out += indented(file.text, "    | ");
    }
    return out;
}

std::string as_calls(const Changes& changes) {
    std::string calls = "begin\n";
    calls += with_text("lay", changes.batch) + "lower_others";
    for (const std::string& device : changes.devices)
        calls += " " + launch::quote_for_shell(device);
    calls += "\n";
    for (const auto& [name, value] : changes.settings)
        calls += fmt::format("setting {} {}\n", launch::quote_for_shell(name), value);
    for (const config::PlannedFile& file : changes.files)
        calls += with_text(
            fmt::format("put {:o} {}", file.mode, launch::quote_for_shell(file.path)), file.text);
    return calls + "place\n";
}

}  // namespace torusmp::torus_setup

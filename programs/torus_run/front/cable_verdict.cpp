// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/cable_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/cable.h"
#include "config/geometry.h"
#include "core/settings.h"
#include "core/transport/list.h"

namespace torusmp::torus_run {
namespace {

using config::MachineFault;

// The most certain cause for each cable.
using Causes = std::map<routing::Link, const MachineFault*>;

constexpr std::size_t most_problems = 20;
constexpr std::size_t most_warnings = 8;

std::string block(const std::vector<std::string>& lines) {
    const std::size_t shown = std::min(most_problems, lines.size());
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) text += "\n  " + lines[i];
    if (lines.size() > shown) text += fmt::format("\n  and {} more", lines.size() - shown);
    return text;
}

Causes causes_of(const std::vector<MachineFault>& faults) {
    Causes causes;
    for (const MachineFault& fault : faults) {
        // Whether plugs or names have moved too, or addresses alone, which then do no harm, is
        // known when the job has started and asked who is at the other ends (plug_watch.h).
        if (fault.of_cable->kind == MachineFault::Cable::moved) continue;
        const MachineFault*& cause = causes[fault.of_cable->cable];
        if (cause == nullptr || fault.of_cable->kind < cause->of_cable->kind) cause = &fault;
    }
    return causes;
}

std::string refuse_cut(const config::Settings& settings, const routing::Parts& parts,
                       const Causes& causes) {
    std::vector<std::string> lines;
    for (const routing::Link& cable : parts.cut()) lines.push_back(causes.at(cable)->text);
    return fmt::format("dead cables split the torus; nothing was started: {}. Dead:{}",
                       config::describe_parts(settings, parts), block(lines));
}

std::vector<int> outside_of_the_largest(const routing::Parts& parts) {
    std::vector<int> sizes(std::size_t(parts.count()));
    for (int node = 0; node < parts.torus().size(); ++node) ++sizes[std::size_t(parts.of(node))];
    const auto largest = int(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
    std::vector<int> nodes;
    for (int node = 0; node < parts.torus().size(); ++node)
        if (parts.of(node) != largest) nodes.push_back(node);
    return nodes;
}

bool is_dead(const MachineFault& fault) {
    return fault.of_cable && fault.of_cable->dead();
}

// The detours that the ranks choose around these dead cables, by the same rule.
routing::Detours detours_of(const config::Settings& settings, int ranks,
                            const std::vector<routing::Link>& dead) {
    const routing::Torus torus = rank_torus(settings, ranks);
    const std::vector<routing::Link> links = config::links_over(settings, torus, dead);
    return {torus, links};
}

std::string describe_way_around(const config::Settings& settings, const routing::Detours& detours,
                                const routing::Link& cable) {
    const auto links = config::links_over(settings, detours.parts().torus(), {&cable, 1});
    const routing::Link& link = links.front();
    const auto way = detours.around(link.rank, link.direction());
    return config::describe_detour(settings, config::nodes_along(settings, link.rank, *way));
}

std::vector<std::string> warn_of(const config::Settings& settings, int ranks, const Causes& causes,
                                 const std::vector<routing::Link>& dead) {
    const routing::Detours detours = detours_of(settings, ranks, dead);
    std::vector<std::string> warnings;
    for (const auto& [cable, cause] : causes) {
        if (warnings.size() == most_warnings) {
            const std::size_t more = causes.size() - most_warnings;
            warnings.push_back(fmt::format("{} more cable{}; torus-check lists all", more,
                                           more == 1 ? " has a fault" : "s have faults"));
            break;
        }
        const std::string name = config::describe_cable(settings, cable);
        const std::string& brief = cause->of_cable->brief;
        warnings.push_back(
            is_dead(*cause)
                ? fmt::format("the cable from {} is dead: {}; the job uses a detour over {}", name,
                              brief, describe_way_around(settings, detours, cable))
                : fmt::format("the cable from {} has a fault: {}; it stays in use", name, brief));
    }
    return warnings;
}

}  // namespace

std::string why_no_detours(const config::Settings& settings) {
    const auto because = [&](const config::AnySetting& setting, const std::string& value) {
        const std::string& where = settings.origin(setting).where;
        return fmt::format("{} = {}{} allows no detour around a dead cable", setting.key(), value,
                           where.empty() ? "" : fmt::format(" ({})", where));
    };
    if (!settings[core::setting::detour]) return because(core::setting::detour, "false");
    if (settings[config::setting::forward] == config::Forward::kernel)
        return because(config::setting::forward, "\"kernel\"");
    const transport::Descriptor* const wanted = transport::wanted_transport(settings);
    if (wanted != nullptr && wanted->needs_devices && !wanted->capabilities.reconnects)
        return because(transport::setting::use, fmt::format("\"{}\"", wanted->name));
    return {};
}

std::string refuse(const std::vector<std::string>& problems, const std::string& hint) {
    const std::string reason = hint.empty() ? hint : ": " + hint;
    if (problems.size() == 1) return problems.front() + "; nothing was started" + reason;
    return fmt::format("{} problems found; nothing was started{}:{}", problems.size(),
                       hint.empty() ? "" : " (" + hint + ")", block(problems));
}

CableVerdict judge_cables(const config::Settings& settings, int ranks,
                          const std::vector<MachineFault>& faults) {
    if (faults.empty()) return {};
    const bool only_cables = std::all_of(
        faults.begin(), faults.end(), [](const auto& fault) { return fault.of_cable.has_value(); });
    const std::string why_not = why_no_detours(settings);
    CableVerdict verdict;
    if (!only_cables || !why_not.empty()) {
        std::vector<std::string> problems;
        for (const MachineFault& fault : faults) problems.push_back(fault.text);
        const bool matters = only_cables && std::any_of(faults.begin(), faults.end(), is_dead);
        verdict.refusal = refuse(problems, matters ? why_not : "");
        return verdict;
    }
    const Causes causes = causes_of(faults);
    for (const auto& [cable, cause] : causes)
        if (is_dead(*cause)) verdict.dead.push_back(cable);
    const routing::Parts parts(*node_torus(settings), verdict.dead);
    if (parts.connected()) {
        verdict.warnings = warn_of(settings, ranks, causes, verdict.dead);
    } else {
        verdict.refusal = refuse_cut(settings, parts, causes);
        verdict.unusable = outside_of_the_largest(parts);
        verdict.cut = true;
    }
    return verdict;
}

}  // namespace torusmp::torus_run

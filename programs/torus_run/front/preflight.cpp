// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "config/cable.h"
#include "config/geometry.h"
#include "config/network.h"
#include "core/transport/machine.h"

namespace torusmp::torus_run {
namespace {

// Turns a clause for "host qcd001" into one for "hosts qcd001 and qcd002".
std::string of_several(const std::string& clause) {
    static constexpr std::pair<std::string_view, std::string_view> verbs[] = {
        {"is", "are"}, {"has", "have"}, {"runs", "run"}};
    const std::size_t end = std::min(clause.find(' '), clause.size());
    for (const auto& [of_one, of_more] : verbs)
        if (clause.compare(0, end, of_one) == 0) return std::string(of_more) + clause.substr(end);
    return clause;
}

}  // namespace

Preflight::Preflight(const Job& job)
    : job_(job), answers_(job.hosts.size()), open_(int(job.hosts.size())) {}

void Preflight::answered(int node, HostFacts facts) {
    Answer& answer = answers_[std::size_t(node)];
    if (answer.known) return;
    answer.known = true;
    answer.facts = std::move(facts);
    --open_;
}

void Preflight::failed(int node, const std::string& why, const std::vector<int>& tried,
                       const std::vector<int>& behind) {
    Answer& first = answers_[std::size_t(node)];
    if (first.failure.empty()) first.failure = why + failed_attempts(tried);
    first.facts.reset();
    first.behind = behind.size();
    std::vector<int> gone = behind;
    gone.push_back(node);
    for (const int other : gone) {
        Answer& answer = answers_[std::size_t(other)];
        if (!answer.known) --open_;
        answer.known = true;
    }
}

// Returns "; hosts b and c do not reach it either".
std::string Preflight::failed_attempts(const std::vector<int>& tried) const {
    if (tried.empty()) return {};
    const bool one = tried.size() == 1;
    return fmt::format("; host{} {} do{} not reach it either", one ? "" : "s", names_of(tried),
                       one ? "es" : "");
}

// Returns "qcd000, qcd001 and qcd002".
std::string Preflight::names_of(const std::vector<int>& nodes) const {
    std::vector<std::string> names;
    for (const int node : nodes) names.push_back(job_.hosts[std::size_t(node)].name);
    return base::listed(std::move(names));
}

// Returns "geometry.toml:5: hosts qcd000, qcd001 and qcd002".
std::string Preflight::cite(const std::vector<int>& nodes) const {
    const std::string& where = job_.hosts[std::size_t(nodes.front())].where;
    return fmt::format("{}{}host{} {}", where, where.empty() ? "" : ": ",
                       nodes.size() == 1 ? "" : "s", names_of(nodes));
}

Preflight::Grouped Preflight::group() const {
    Grouped groups;
    const auto add = [&groups](int node, const std::string& problem) {
        const auto same = std::find_if(groups.begin(), groups.end(), [&problem](const auto& group) {
            return group.first == problem;
        });
        if (same == groups.end())
            groups.push_back({problem, {node}});
        else
            same->second.push_back(node);
    };
    for (int node = 0; node < int(answers_.size()); ++node) {
        const Answer& answer = answers_[std::size_t(node)];
        if (!answer.failure.empty()) {
            add(node, answer.failure +
                          (answer.behind == 0
                               ? std::string()
                               : fmt::format("; {} more host{} reached over it", answer.behind,
                                             answer.behind == 1 ? " is" : "s are")));
        }
        if (answer.facts)
            for (const std::string& problem : answer.facts->problems) add(node, ": " + problem);
    }
    return groups;
}

std::vector<config::HostFacts> Preflight::parsed(std::vector<std::string>& problems) const {
    std::vector<config::HostFacts> all;
    for (int node = 0; node < int(answers_.size()); ++node) try {
            all.push_back(transport::parse_facts(answers_[std::size_t(node)].facts->description));
        } catch (const config::ConfigError& error) {
            problems.push_back(fmt::format("{}: {}", cite({node}), error.what()));
        }
    return all;
}

// Links are checked together with all dependent settings. Without links only the file can differ.
std::vector<config::MachineFault> Preflight::machine_faults(
    std::vector<std::string>& problems) const {
    if (answers_.size() == 1) return {};
    const std::vector<config::HostFacts> facts = parsed(problems);
    if (!problems.empty()) return {};
    const config::Settings& settings = job_.settings;
    const std::string geometry = config::file_hash(settings.file());
    if (!settings[config::setting::links].empty() ||
        !settings[config::setting::host_links].empty() ||
        !settings[config::setting::cables].list.empty())
        return transport::find_faults(settings, facts, config::read_locations(settings), geometry);
    for (int node = 0; node < int(facts.size()); ++node)
        if (const std::string& theirs = facts[std::size_t(node)].geometry;
            !theirs.empty() && theirs != geometry)
            problems.push_back(
                fmt::format("{}: the geometry file {} differs from the file on this host: "
                            "expected the same file on every host, or only here",
                            cite({node}), settings.file()));
    return {};
}

std::optional<Preflight::Followed> Preflight::follow(const config::Plugs& heard) const {
    if (heard.empty()) return std::nullopt;
    std::vector<std::string> problems;
    const std::vector<config::HostFacts> facts = parsed(problems);
    if (!problems.empty()) return std::nullopt;
    auto settings = config::follow_plugs(job_.settings, heard, [&](const config::Plug& plug) {
        return facts[std::size_t(plug.node)].find(plug.device) != nullptr;
    });
    if (!settings) return std::nullopt;
    const auto torus = *node_torus(*settings);
    std::vector<std::string> cables;
    for (int node = 0; node < torus.size(); ++node)
        for (int d = 0; d < torus.link_dimensions(); ++d) {
            if (!torus.neighbour(node, {d, +1})) continue;
            const std::string now = config::describe_cable(*settings, {node, d});
            if (now != config::describe_cable(job_.settings, {node, d})) cables.push_back(now);
        }
    return Followed{
        std::move(*settings),
        fmt::format("cables are not at the devices in {}, and the job uses them as they are: "
                    "from {}. Write the file again with torus-check --discover or torus-setup",
                    job_.settings.file().empty() ? "the geometry" : job_.settings.file(),
                    fmt::join(cables, "; from "))};
}

bool Preflight::share_a_machine() const {
    std::set<std::string> machines;
    for (const Answer& answer : answers_)
        if (answer.facts && !machines.insert(answer.facts->machine).second) return true;
    return false;
}

CableVerdict Preflight::verdict() const {
    std::vector<std::string> problems;
    std::vector<int> unusable;
    for (const auto& [problem, nodes] : group()) {
        unusable.insert(unusable.end(), nodes.begin(), nodes.end());
        problems.push_back(cite(nodes) + (problem.starts_with(':') ? "" : " ") +
                           (nodes.size() > 1 ? of_several(problem) : problem));
    }
    std::vector<config::MachineFault> faults;
    if (problems.empty()) faults = machine_faults(problems);
    if (problems.empty()) return judge_cables(job_.settings, job_.size(), faults);
    return {refuse(problems), {}, {}, unusable};
}

}  // namespace torusmp::torus_run

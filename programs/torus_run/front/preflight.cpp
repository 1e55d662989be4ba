#include "programs/torus_run/front/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/geometry.h"
#include "config/network.h"
#include "core/transport/machine.h"
#include "programs/torus_run/daemon/child_daemons.h"

namespace torusmp::launch {

Preflight::Preflight(const Job& job, std::vector<int> parents)
    : job_(job),
      parents_(std::move(parents)),
      answers_(job.hosts.size()),
      open_(int(job.hosts.size())) {}

void Preflight::answered(int node, HostFacts facts) {
    Answer& answer = answers_[std::size_t(node)];
    if (answer.known) return;
    answer.known = true;
    answer.facts = std::move(facts);
    --open_;
}

void Preflight::failed(int node, const std::string& why) {
    Answer& first = answers_[std::size_t(node)];
    if (first.failure.empty()) first.failure = why;
    first.facts.reset();
    for (const int other : subtree_of(parents_, node)) {
        Answer& answer = answers_[std::size_t(other)];
        if (!answer.known) --open_;
        answer.known = true;
    }
}

// "geometry.toml:5: hosts qcd000, qcd001 and qcd002".
std::string Preflight::cite(const std::vector<int>& nodes) const {
    constexpr std::size_t most = 8;
    std::vector<std::string> names;
    for (const int node : nodes) names.push_back(job_.hosts[std::size_t(node)].name);
    std::string last = names.back();
    names.pop_back();
    if (names.size() > most) {
        last = fmt::format("{} more", names.size() + 1 - most);
        names.resize(most);
    }
    const std::string& where = job_.hosts[std::size_t(nodes.front())].where;
    return fmt::format("{}{}host{} {}{}{}", where, where.empty() ? "" : ": ",
                       names.empty() ? "" : "s", fmt::join(names, ", "),
                       names.empty() ? "" : " and ", last);
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
            const std::size_t behind = subtree_of(parents_, node).size() - 1;
            add(node, " " + answer.failure +
                          (behind == 0 ? std::string()
                                       : fmt::format("; {} more host{} reached over it", behind,
                                                     behind == 1 ? " is" : "s are")));
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

// Links are checked with everything that belongs to them. Without links only the file can differ.
void Preflight::add_machine_problems(std::vector<std::string>& problems) const {
    if (answers_.size() == 1) return;
    const std::vector<config::HostFacts> facts = parsed(problems);
    if (!problems.empty()) return;
    const config::Settings& settings = job_.settings;
    const std::string geometry = config::file_hash(settings.file());
    if (!settings[config::setting::links].empty() ||
        !settings[config::setting::host_links].empty()) {
        problems =
            transport::check_machine(settings, facts, config::read_locations(settings), geometry);
        return;
    }
    for (int node = 0; node < int(facts.size()); ++node)
        if (const std::string& theirs = facts[std::size_t(node)].geometry;
            !theirs.empty() && theirs != geometry)
            problems.push_back(
                fmt::format("{}: the geometry file {} is another one there: expected "
                            "the same on every host, or none but here",
                            cite({node}), settings.file()));
}

bool Preflight::share_a_machine() const {
    std::set<std::string> machines;
    for (const Answer& answer : answers_)
        if (answer.facts && !machines.insert(answer.facts->machine).second) return true;
    return false;
}

std::string Preflight::what_is_wrong() const {
    std::vector<std::string> problems;
    for (const auto& [problem, nodes] : group()) problems.push_back(cite(nodes) + problem);
    if (problems.empty()) add_machine_problems(problems);
    if (problems.empty()) return {};
    if (problems.size() == 1) return problems.front() + "; nothing was started";
    constexpr std::size_t most = 20;
    const std::size_t shown = std::min(most, problems.size());
    std::string text =
        fmt::format("{} things are wrong, and nothing was started:", problems.size());
    for (std::size_t i = 0; i < shown; ++i) text += "\n  " + problems[i];
    if (problems.size() > shown) text += fmt::format("\n  and {} more", problems.size() - shown);
    return text;
}

}  // namespace torusmp::launch

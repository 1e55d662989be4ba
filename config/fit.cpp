// SPDX-License-Identifier: BSD-3-Clause
#include "config/fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/geometry.h"
#include "config/geometry_text.h"
#include "config/living.h"

namespace torusmp::config {

namespace {

std::string cite_ranks_per_node(const Settings& settings) {
    return fmt::format("torus.ranks_per_node = {} ({})", joined(settings[setting::ranks_per_node]),
                       settings.origin(setting::ranks_per_node).where);
}

// The options and the file agree on the ranks of each host.
void check_ranks_per_host(const Settings& settings, const Demand& demand) {
    if (demand.ranks_per_host == 0 || demand.ranks_per_host == ranks_on_a_node(settings) ||
        settings[setting::ranks_per_node].empty())
        return;
    throw ConfigError(fmt::format(
        "{}: {} puts {} on each host: expected both to agree; without torus.ranks_per_node, {} "
        "alone decides",
        demand.ranks_per_host_option, cite_ranks_per_node(settings),
        plural(ranks_on_a_node(settings), "rank"), demand.ranks_per_host_option));
}

// "-np 6 with -ppn 4 ...": the number of ranks on each host is given, as `each` of `option`.
[[noreturn]] void refuse_with(const Demand& demand, const std::string& option, int each,
                              int hosts) {
    const int ranks = *demand.ranks, fewer = ranks / each * each;
    const std::string both = fmt::format("{} with {}", demand.ranks_option, option);
    if (ranks > hosts * each)
        throw ConfigError(fmt::format(
            "{} needs {} hosts, but there {}: expected at most -np {}, or at least {} "
            "ranks on each host",
            both, (ranks + each - 1) / each, hosts == 1 ? "is 1" : fmt::format("are {}", hosts),
            hosts * each, (ranks + hosts - 1) / hosts));
    throw ConfigError(fmt::format("{}: every host gets the same number of ranks, expected -np {}{}",
                                  both, fewer > 0 ? fmt::format("{} or ", fewer) : "",
                                  fewer + each));
}

// The ranks fill neither all hosts nor, one on each, some of them.
[[noreturn]] void refuse_uneven(const Demand& demand, int hosts) {
    const int ranks = *demand.ranks, fewer = ranks / hosts * hosts;
    int each = ranks / hosts + 1;
    while (ranks % each != 0) ++each;
    throw ConfigError(fmt::format(
        "{}: {} ranks do not evenly fill the {} hosts{}: expected -np {} or {}, or -ppn {} ({} "
        "ranks on {})",
        demand.ranks_option, ranks, hosts,
        demand.hosts_option.empty() ? "" : fmt::format(" that {} allows", demand.hosts_option),
        fewer, fewer + hosts, each, each,
        each == ranks ? "one host" : fmt::format("each of {} hosts", ranks / each)));
}

struct Division {
    int hosts, each;
};

// `hosts` may be used.
Division divide(const Settings& settings, const Demand& demand, int hosts) {
    const bool each_given =
        demand.ranks_per_host != 0 || !settings[setting::ranks_per_node].empty();
    const int each = demand.ranks_per_host != 0 ? demand.ranks_per_host : ranks_on_a_node(settings);
    if (!demand.ranks) return {hosts, each};
    const int ranks = *demand.ranks;
    if (ranks % each == 0 && ranks / each <= hosts) return {ranks / each, each};
    if (each_given)
        refuse_with(demand,
                    demand.ranks_per_host != 0 ? demand.ranks_per_host_option
                                               : cite_ranks_per_node(settings),
                    each, hosts);
    if (ranks % hosts != 0) refuse_uneven(demand, hosts);
    return {hosts, ranks / hosts};
}

}  // namespace

void fit(Settings& settings, const Demand& demand) {
    check_ranks_per_host(settings, demand);
    const std::vector<std::string>& all = host_names(settings);
    const std::vector<std::string> usable = demand.hosts.empty() ? all : demand.hosts;
    const int most = int(usable.size()) - demand.free;
    const auto [hosts, each] = divide(settings, demand, most);
    const bool whole = hosts == int(all.size());
    set_ranks_per_host(
        settings, each,
        demand.ranks_per_host != 0 ? demand.ranks_per_host_option : demand.ranks_option);
    if (whole) return;
    const std::string why =
        fit_living(settings, {hosts, each, usable, nullptr, demand.first,
                              hosts < most ? demand.ranks_option : demand.hosts_option});
    if (!why.empty()) throw ConfigError(why);
}

}  // namespace torusmp::config

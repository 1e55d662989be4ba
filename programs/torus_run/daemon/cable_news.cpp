// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/cable_news.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "config/cable.h"
#include "config/geometry.h"

namespace torusmp::torus_run {
namespace {

using std::chrono::duration;

std::string on_the_wall(const CableNews::Moment& moment) {
    return fmt::format("{:%H:%M:%S}",
                       fmt::localtime(std::chrono::system_clock::to_time_t(moment.wall)));
}

std::string length(CableNews::Clock::duration time) {
    const double seconds = duration<double>(time).count();
    if (seconds < 1) return fmt::format("{:.0f} ms", 1000 * seconds);
    return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 1 : 0);
}

// Whether the path of a detour leads from rank to rank, and to the peer.
bool leads(const routing::Torus& ranks, routing::Rank rank, const routing::LinkNews& news) {
    for (const routing::Hop& hop : news.path) {
        if (hop.direction.dimension >= ranks.link_dimensions() ||
            ranks.neighbour(rank, hop.direction) != hop.rank)
            return false;
        rank = hop.rank;
    }
    return news.path.empty() || rank == news.peer;
}

}  // namespace

CableNews::CableNews(const config::Settings& settings, int ranks)
    : settings_(settings),
      ranks_(node_torus(settings) ? std::optional(rank_torus(settings, ranks)) : std::nullopt) {}

void CableNews::dead_at_start(std::span<const routing::Link> cables, Moment now) {
    for (const routing::Link& link : cables) {
        Cable& cable = cables_[link];
        cable.dead = cable.reported_dead = true;
        cable.died = cable.changed = now;
    }
}

bool CableNews::heard(routing::Rank rank, const routing::LinkNews& news, Moment now) {
    if (!ranks_) return true;
    if (news.direction.dimension >= ranks_->link_dimensions() ||
        ranks_->neighbour(rank, news.direction) != news.peer)
        return false;
    const bool detour = news.state == routing::LinkNews::State::detour;
    if (detour == news.path.empty() || !leads(*ranks_, rank, news)) return false;
    const auto link = config::cable_under(settings_, *ranks_, rank, news.direction);
    if (!link || gone_.count(rank) != 0 || gone_.count(news.peer) != 0) return true;
    Cable& cable = cables_[*link];
    const End end{rank, news.direction.index()};
    if (news.state == routing::LinkNews::State::alive) {
        cable.ends.erase(end);
        if (cable.ends.empty()) come_back(cable, now);
        return true;
    }
    die(cable, now);
    cable.ends[end] = detour ? config::nodes_along(settings_, rank, news.path) : std::vector<int>();
    if (cable.why.empty() && !news.why.empty())
        cable.why = fmt::format(
            "{} saw: {}", config::host_of(settings_, {node_of(settings_, rank), {}}), news.why);
    return true;
}

void CableNews::die(Cable& cable, Moment now) {
    if (cable.dead) return;
    if (now.at - cable.changed.at > quiet) cable.deaths = 0;
    if (cable.deaths++ == 0) cable.first = now;
    cable.dead = cable.news = true;
    cable.why.clear();
    cable.died = cable.changed = now;
    cable.report_at =
        now.at + (cable.flapping ? Clock::duration(quiet) : Clock::duration(settling));
}

void CableNews::come_back(Cable& cable, Moment now) {
    if (!cable.dead) return;
    cable.dead = false;
    cable.news = true;
    cable.changed = now;
    cable.report_at =
        now.at + (cable.flapping ? Clock::duration(quiet) : Clock::duration(settling));
}

void CableNews::gone(routing::Rank rank) {
    gone_.insert(rank);
    for (auto& [link, cable] : cables_) {
        std::erase_if(cable.ends, [&](const auto& it) {
            const auto direction = routing::Direction::from_index(it.first.second);
            return it.first.first == rank || ranks_->neighbour(it.first.first, direction) == rank;
        });
        if (cable.ends.empty() && cable.dead && !cable.reported_dead) cable = {};
    }
}

bool CableNews::is_first(int node, const LinkTrouble& trouble) {
    if (!ranks_) return true;
    const auto cable = config::cable_at(settings_, node, trouble.device);
    return !cable || troubles_.insert({*cable, trouble.kind}).second;
}

std::optional<CableNews::Clock::time_point> CableNews::next() const {
    std::optional<Clock::time_point> next;
    for (const auto& [link, cable] : cables_)
        if (cable.report_at) next = next ? std::min(*next, *cable.report_at) : *cable.report_at;
    return next;
}

std::vector<std::string> CableNews::due(Clock::time_point now) {
    std::vector<std::string> lines;
    for (auto& [link, cable] : cables_)
        if (cable.report_at && *cable.report_at <= now)
            if (auto line = report_line(link, cable, now, false)) lines.push_back(std::move(*line));
    return lines;
}

std::vector<std::string> CableNews::rest(Clock::time_point now) {
    std::vector<std::string> lines;
    for (auto& [link, cable] : cables_)
        if (cable.report_at)
            if (auto line = report_line(link, cable, now, true)) lines.push_back(std::move(*line));
    return lines;
}

std::string CableNews::detour_of(const Cable& cable) const {
    for (const auto& [end, way] : cable.ends)
        if (!way.empty())
            return "the job uses a detour over " + config::describe_detour(settings_, way);
    return "its messages cannot be carried";
}

std::optional<std::string> CableNews::report_line(const routing::Link& link, Cable& cable,
                                                  Clock::time_point now, bool last) {
    const std::string name = "the cable from " + config::describe_cable(settings_, link);
    const bool carried = std::any_of(cable.ends.begin(), cable.ends.end(),
                                     [](const auto& end) { return !end.second.empty(); });
    if (!last && !cable.flapping && cable.dead && !carried &&
        now < cable.died.at + time_for_the_cause) {
        cable.report_at = cable.died.at + time_for_the_cause;
        return std::nullopt;
    }
    cable.report_at.reset();
    if (!cable.news) return std::nullopt;
    if (cable.flapping) {
        const std::string count = fmt::format("{} died {} times in {}", name, cable.deaths,
                                              length(cable.changed.at - cable.first.at));
        cable.flapping = cable.news = false;
        cable.deaths = 0;
        cable.reported_dead = cable.dead;
        return cable.dead ? fmt::format("warning: {} and has been dead since {}; {}", count,
                                        on_the_wall(cable.changed), detour_of(cable))
                          : fmt::format("{} and has been up again since {}", count,
                                        on_the_wall(cable.changed));
    }
    if (cable.deaths >= most_deaths && !last) {
        cable.flapping = true;
        cable.report_at = cable.changed.at + quiet;
        return fmt::format(
            "warning: {} is flapping, {} times in {} so far; the next report follows when it has "
            "been stable for {}",
            name, cable.deaths, length(now - cable.first.at), length(quiet));
    }
    cable.news = false;
    if (cable.dead == cable.reported_dead && cable.dead) return std::nullopt;  // already reported
    const bool was_reported = std::exchange(cable.reported_dead, cable.dead);
    if (cable.dead)
        return fmt::format("warning: {} has been dead since {}{}{}; {}", name,
                           on_the_wall(cable.died), cable.why.empty() ? "" : ": ", cable.why,
                           detour_of(cable));
    const std::string away = length(cable.changed.at - cable.died.at);
    return was_reported ? fmt::format("{} is back after {}", name, away)
                        : fmt::format("{} was dead for {} and is back{}{}", name, away,
                                      cable.why.empty() ? "" : "; ", cable.why);
}

}  // namespace torusmp::torus_run

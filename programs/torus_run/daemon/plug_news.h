// SPDX-License-Identifier: BSD-3-Clause
// Collects reports of cables that contradict the geometry file, which hosts send while
// a job starts: reports each fault once, and decides whether the job can use detours.
//
// Pure bookkeeping. Owned by the coordinator and used by its one thread.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "config/plugs.h"
#include "config/settings.h"
#include "programs/torus_run/streams/messages.h"
#include "routing/detours.h"

namespace torusmp::torus_run {

class PlugNews {
  public:
    using Clock = std::chrono::steady_clock;
    // The other ends of the same cables report, too.
    static constexpr std::chrono::milliseconds settling{300};

    struct Verdict {
        std::vector<routing::Link> cables;  // that lead elsewhere
        std::vector<std::string> lines;     // warnings; the job uses detours
        std::string refusal;                // why a detour is impossible; includes the lines
    };

    // `settings` must outlive this.
    explicit PlugNews(const config::Settings& settings) : settings_(settings) {}

    void dead_at_start(std::span<const routing::Link> cables);
    // Adds a LinkTrouble of the kind `elsewhere`. Returns false if it is damaged.
    bool heard(int node, const LinkTrouble& trouble, Clock::time_point now);

    const config::Plugs& plugs() const { return plugs_; }
    // Forgets what was heard, since the settings follow it.
    void forget();

    // The verdict that is due by now, if any.
    std::optional<Verdict> due(Clock::time_point now);
    std::optional<Clock::time_point> next() const { return report_at_; }

  private:
    std::string why_no_way() const;

    const config::Settings& settings_;
    config::Plugs plugs_;
    std::set<routing::Link> dead_;  // dead at the start, or leading elsewhere
    std::set<routing::Link> reported_;
    std::optional<Clock::time_point> report_at_;
};

}  // namespace torusmp::torus_run

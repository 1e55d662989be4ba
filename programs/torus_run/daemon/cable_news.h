// SPDX-License-Identifier: BSD-3-Clause
// Turns the reports of ranks about cables into messages for the user: one line when a cable dies
// and one when it is back, although both ends of each link that it carries report it. A flapping
// cable is reported as such once, and then only counted until it has been quiet for a while. Faults
// that the kernels at both ends notice on a live cable are reported once.
//
// Each message is delayed: further reports follow the first one, from the far end, about the
// detours of the links, or about a host that died and whose cables do not matter.
//
// Pure bookkeeping. Owned by the coordinator and used by its one thread.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "programs/torus_run/streams/messages.h"
#include "routing/detours.h"
#include "routing/link_news.h"

namespace torusmp::torus_run {

class CableNews {
  public:
    using Clock = std::chrono::steady_clock;
    // A moment on the steady clock, for intervals, and on the wall clock, for messages.
    struct Moment {
        Clock::time_point at;
        std::chrono::system_clock::time_point wall;

        static Moment now() { return {Clock::now(), std::chrono::system_clock::now()}; }
    };

    static constexpr std::chrono::milliseconds settling{300};
    // Delay for a cable without a detour: the cause that ends the job is more informative.
    static constexpr std::chrono::seconds time_for_the_cause{3};
    static constexpr std::chrono::seconds quiet{30};
    static constexpr int most_deaths = 3;  // without quiet between them

    // `settings` must outlive this.
    CableNews(const config::Settings& settings, int ranks);

    // Cables that were reported before the ranks started.
    void dead_at_start(std::span<const routing::Link> cables, Moment now);
    // Returns false if the link does not exist.
    bool heard(routing::Rank rank, const routing::LinkNews& news, Moment now);
    // Marks a rank as dead: reports about the cables of its links are dropped.
    void gone(routing::Rank rank);

    // Whether this trouble with the cable is reported for the first time, from either end.
    bool is_first(int node, const LinkTrouble& trouble);

    // Returns the lines that are due.
    std::vector<std::string> due(Clock::time_point now);
    // When the next line may be due; nullopt if not before another report.
    std::optional<Clock::time_point> next() const;
    // Returns the lines that are still pending, at the end of a job that succeeded.
    std::vector<std::string> rest(Clock::time_point now);
    // Drops all pending lines: the message that ends the job covers them.
    void drop() { cables_.clear(); }

  private:
    using End = std::pair<routing::Rank, int>;  // a rank and Direction::index()

    struct Cable {
        bool dead = false;
        bool reported_dead = false;  // the last line about it said so
        bool flapping = false;       // and reported as such
        bool news = false;           // a message is pending
        int deaths = 0;              // without quiet between them
        Moment first{}, died{}, changed{};
        std::string why;
        // The ends that report it dead, and the nodes of their detours; empty if there is no
        // detour.
        std::map<End, std::vector<int>> ends;
        std::optional<Clock::time_point> report_at;
    };

    void die(Cable& cable, Moment now);
    void come_back(Cable& cable, Moment now);
    std::optional<std::string> report_line(const routing::Link& link, Cable& cable,
                                           Clock::time_point now, bool last);
    std::string detour_of(const Cable& cable) const;

    const config::Settings& settings_;
    const std::optional<routing::Torus> ranks_;  // nullopt without a torus of nodes and its cables
    std::map<routing::Link, Cable> cables_;
    std::set<routing::Rank> gone_;
    std::set<std::pair<routing::Link, LinkTrouble::Kind>> troubles_;
};

}  // namespace torusmp::torus_run

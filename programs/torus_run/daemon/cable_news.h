// SPDX-License-Identifier: BSD-3-Clause
// What ranks tell of cables, said once: one line when a cable dies and one when it is back, however
// many links it carries and although both ends of each report. A cable that comes and goes is said
// to do so, and then only counted until it has been quiet for a while. What kernels at both ends
// notice of a cable that lives is news once.
//
// Nothing is said at once: with the first report of a fault come others, of the far end, of what
// carries the links now, or of a host that died, whose cables nobody asks about.
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

namespace torusmp::launch {

class CableNews {
  public:
    using Clock = std::chrono::steady_clock;
    // By the clock that counts and by the one on the wall.
    struct Moment {
        Clock::time_point at;
        std::chrono::system_clock::time_point wall;

        static Moment now() { return {Clock::now(), std::chrono::system_clock::now()}; }
    };

    static constexpr std::chrono::milliseconds settling{300};
    // For a cable without a detour: what ends the job then says more.
    static constexpr std::chrono::seconds time_for_the_cause{3};
    static constexpr std::chrono::seconds quiet{30};
    static constexpr int most_deaths = 3;  // without quiet between them

    // `settings` must outlive this.
    CableNews(const config::Settings& settings, int ranks);

    // These have been told of.
    void dead_at_start(std::span<const routing::Link> cables, Moment now);
    // False: there is no such link.
    bool heard(routing::Rank rank, const routing::LinkNews& news, Moment now);
    // A rank that is dead: nothing is wrong with the cables of its links.
    void gone(routing::Rank rank);

    // Whether nobody has told of this trouble with the cable yet, at either end.
    bool is_first(int node, const LinkTrouble& trouble);

    // The lines that are due.
    std::vector<std::string> due(Clock::time_point now);
    // When there may be some; nothing: not before more is heard.
    std::optional<Clock::time_point> next() const;
    // At the end of a job that ended well: what has not been said yet.
    std::vector<std::string> rest(Clock::time_point now);
    // The end of the job says it all.
    void drop() { cables_.clear(); }

  private:
    using End = std::pair<routing::Rank, int>;  // a rank and Direction::index()

    struct Cable {
        bool dead = false;
        bool told_dead = false;  // by the last line about it
        bool flapping = false;   // which has been told
        bool news = false;       // there is something to say
        int deaths = 0;          // without quiet between them
        Moment first{}, died{}, changed{};
        std::string why;
        // Those that call it dead, and the nodes by which they go on; empty: no way.
        std::map<End, std::vector<int>> ends;
        std::optional<Clock::time_point> say_at;
    };

    void die(Cable& cable, Moment now);
    void come_back(Cable& cable, Moment now);
    std::optional<std::string> speak(const routing::Link& link, Cable& cable, Clock::time_point now,
                                     bool last);
    std::string detour_of(const Cable& cable) const;

    const config::Settings& settings_;
    const std::optional<routing::Torus> ranks_;  // nothing: no torus of nodes, no cables
    std::map<routing::Link, Cable> cables_;
    std::set<routing::Rank> gone_;
    std::set<std::pair<routing::Link, LinkTrouble::Kind>> troubles_;
};

}  // namespace torusmp::launch

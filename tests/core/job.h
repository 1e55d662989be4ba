// SPDX-License-Identifier: BSD-3-Clause
// A whole job in one process: one Runtime for each rank over a simulated World, and a scheduler
// that lets them run in a random order.
//
// The caller's requests and buffers must outlive the Job: declare them before it. Ranks are killed
// through the Job, which then lets them be.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/page/control_page.h"
#include "core/simulated/ranks.h"
#include "routing/detours.h"
#include "routing/link_news.h"

namespace torusmp::core::testing {

namespace sim = transport::sim;

struct JobOptions {
    std::vector<int> dims{1};
    std::vector<bool> periodic{};                   // empty: all
    std::shared_ptr<const routing::Graph> graph{};  // in place of these
    std::uint64_t seed = 1;
    std::size_t eager_limit = 2048;
    std::size_t spread_limit = 0;                          // 0: three times the eager limit
    std::size_t unexpected_limit = std::size_t{64} << 20;  // bytes
    int credits = 8;
    int relay_credits = 4;
    std::size_t allocatable = std::size_t(-1);  // bytes of memory to share, on each rank
    bool direct = false;                        // all ranks reach each other without relay
    int per_host = 1;   // consecutive ranks that do so; the others are reached over the links
    int shortcuts = 0;  // see Options
    std::uint32_t shortcut_after = 4;
    bool detour = false;
    bool shares_cores = false;
    bool tolerates_deaths = false;            // then deaths are reported some time later
    sim::Time hold_down{20'000};              // of cables that die again
    std::vector<routing::Link> cut{};         // cables that are missing from the start
    std::vector<routing::Link> dead_links{};  // those that all ranks know of
    int link_transports = 0;   // further interfaces, which share the links; 0: the first serves all
    bool joint_links = false;  // the first of these has no separate links
    sim::WorldOptions world{};
    std::optional<Rank> misnamed = {};  // whose address cannot be connected to
    std::size_t misnamed_at = 1;        // which byte of it is wrong, counted from its end
    std::function<void(Rank, const routing::LinkNews&)> log_link = {};  // empty: see Options
};

// Where little fits: messages of more than 512 B are large, two credits are all there are.
JobOptions tight_torus(std::vector<int> dims, std::uint64_t seed);
// The same with detours around dead cables, over transports that write and notify.
JobOptions detour_torus(std::vector<int> dims, std::uint64_t seed);

inline routing::Torus torus_of(const JobOptions& options) {
    return options.graph ? routing::Torus(options.graph)
                         : routing::Torus(options.dims, options.periodic);
}

class Job {
  public:
    explicit Job(const JobOptions& options);

    sim::World& world() { return ranks_.world(); }
    sim::Random& random() { return random_; }
    int size() const { return ranks_.size(); }
    Runtime& operator[](Rank rank) { return ranks_[rank]; }
    ControlPage& page(Rank rank) { return *pages_[std::size_t(rank)]; }
    const routing::Torus& torus() const { return torus_; }
    bool alive(Rank rank) const { return alive_[std::size_t(rank)]; }
    // The lines that the runtimes wrote to Options::log, in order, each with its rank in front.
    const std::vector<std::string>& log() const { return log_; }
    // True if one of these lines contains the text.
    bool has_logged(std::string_view text) const;

    // Moves one runtime, or time. False if nothing can move by itself any more.
    bool turn();
    // Turns until done() or until nothing moves; returns done().
    template <class Done>
    bool run_until(Done&& done) {
        while (!done())
            if (!turn()) return done();
        return true;
    }
    void settle() {
        while (turn()) {
        }
    }

    // In a direct job the launcher's part is played too: all are notified.
    void kill(Rank rank);
    // It computes, or its process is stopped: it is not called until it goes on.
    void stop(Rank rank) { stopped_[std::size_t(rank)] = true; }
    void go_on(Rank rank);
    // An attacker controls the rank: its Runtime stops, but its links live.
    void capture(Rank rank);
    void end_captured(Rank rank);  // and then its links die
    void kill_link(Rank rank, routing::Direction direction);
    // False: it has none that is up.
    bool cut_link(Rank rank, routing::Direction direction);
    void revive_link(Rank rank, routing::Direction direction);
    // The same for the connection between two ranks that are no neighbours, without which their
    // messages are relayed.
    bool cut_shortcut(Rank rank, Rank peer);
    void revive_shortcut(Rank rank, Rank peer);
    // The interface that has that port.
    sim::Interface& interface(Rank rank, std::uint32_t port) {
        return ranks_.interface(rank, port);
    }

    // The peers and requests of all waits, for the report of a failed test.
    std::string report() const;
    bool quiet() const;
    bool credits_home() const;
    // Every link goes over its own cable.
    bool on_cables() const;

  private:
    void make_ready(std::size_t index);
    bool sweep();
    bool report_death();

    Options options_of(const JobOptions& options, Rank rank);
    simulated::Plan plan_of(const JobOptions& options);

    bool direct_;
    bool tolerates_deaths_;
    routing::Torus torus_;
    sim::Random random_;
    std::vector<std::unique_ptr<ControlPage>> pages_;
    std::vector<bool> stopped_;
    std::vector<bool> alive_;
    struct Death {
        Rank rank, to;
    };
    std::vector<Death> unreported_;
    std::vector<std::size_t> ready_;
    std::vector<bool> is_ready_;
    std::vector<std::string> log_;  // until the last Runtime has gone
    simulated::Ranks ranks_;
};

// Bytes that depend on a seed and the offset, quick to make and to check.
void fill(std::byte* data, std::size_t bytes, std::uint64_t seed);
bool filled(const std::byte* data, std::size_t bytes, std::uint64_t seed);

}  // namespace torusmp::core::testing

// SPDX-License-Identifier: BSD-3-Clause
// The control pages of the ranks of one host: asks the ranks for their state every second, so that
// it is known since when one has not been in a call, and takes samples of them while somebody
// watches the job.
//
// Owned by LocalRanks and used by its one thread. Ranks may have written anything to their pages.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "programs/torus_run/monitor/records.h"

namespace torusmp::launch {

class RankPages {
  public:
    using Clock = std::chrono::steady_clock;

    void started(int rank, pid_t pid);
    // The rank says which of its descriptors its page is: an int32. What is none is not looked at.
    void opened(int rank, pid_t pid, std::span<const std::byte> said);
    void ended(int rank);

    // How often samples are taken; 0: nobody watches. The next sample has everything.
    void watch(std::chrono::milliseconds interval);
    // Asks the ranks, and takes the sample that is due, if one is.
    std::optional<Sample> tick(Clock::time_point now);
    // What has changed since the last sample, for when nobody will ask again; nothing: nobody
    // watches. The pages of ranks that have ended say what these have counted to their end.
    std::optional<Sample> last(Clock::time_point now);
    std::optional<Clock::time_point> next_tick() const;

    // What a rank does now, of this host; nothing: there is no such rank. Ranks were asked up to a
    // second ago.
    std::optional<RankRecord> look(int rank, Clock::time_point now) const;

  private:
    struct Unmap {
        void operator()(core::ControlPage* page) const;
    };
    struct Rank {
        pid_t pid = 0;
        std::unique_ptr<core::ControlPage, Unmap> page;
        Clock::time_point asked{};
        bool gone = false;
        RankRecord told{};  // by the last sample
        std::array<core::WayCounts, core::page_ways> ways_told{};
    };

    RankRecord look(int number, const Rank& rank, Clock::time_point now,
                    std::optional<core::PageState>& state) const;
    void ask(Clock::time_point now);
    Sample take_sample(Clock::time_point now);

    std::map<int, Rank> ranks_;
    Clock::time_point next_ask_{};
    std::chrono::milliseconds interval_{0};
    Clock::time_point next_sample_{};
    bool everything_ = true;
};

}  // namespace torusmp::launch

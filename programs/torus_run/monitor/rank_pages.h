// SPDX-License-Identifier: BSD-3-Clause
// The control pages of the ranks of one host: requests the state of the ranks every second, so that
// it is known since when a rank has not been in a call, and takes samples of them while there are
// observers.
//
// Owned by LocalRanks and used by its one thread. The content of the pages is untrusted.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "programs/torus_run/monitor/records.h"

namespace torusmp::torus_run {

class RankPages {
  public:
    using Clock = std::chrono::steady_clock;

    void started(int rank, pid_t pid);
    // Maps the page of a rank. `said` is the rank's descriptor of the page, an int32. Ignores an
    // invalid one.
    void opened(int rank, pid_t pid, std::span<const std::byte> said);
    void ended(int rank);
    // The last activity of the rank outside of memory, such as " while writing /scratch/x".
    std::string deed(int rank) const;

    // Sets the sampling interval; 0 if there are no observers. The next sample is complete.
    void watch(std::chrono::milliseconds interval);
    // Requests the ranks' state, and takes a sample if one is due.
    std::optional<Sample> tick(Clock::time_point now);
    // Returns the changes since the last sample, for the last sample of a host; nullopt if
    // there are no observers. The pages of ranks that have ended still hold their final counters.
    std::optional<Sample> last(Clock::time_point now);
    std::optional<Clock::time_point> next_tick() const;

    // The current state of a rank of this host; nullopt if the rank does not exist. The state is at
    // most one second old.
    std::optional<RankRecord> look(int rank, Clock::time_point now) const;

    // The traffic that the ranks' own transports have received over the links of this host.
    struct Arrived {
        int rank = 0;
        core::LinkArrivals counts;
    };
    std::vector<Arrived> arrivals() const;

  private:
    struct Unmap {
        void operator()(core::ControlPage* page) const;
    };
    struct Rank {
        pid_t pid = 0;
        std::unique_ptr<core::ControlPage, Unmap> page;
        Clock::time_point asked{};
        bool gone = false;
        RankRecord sent{};  // as of the last sample
        std::array<core::WayCounts, core::page_ways> ways_sent{};
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

}  // namespace torusmp::torus_run

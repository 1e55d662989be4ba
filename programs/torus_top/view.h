// SPDX-License-Identifier: BSD-3-Clause
// The state of a running job in torus-top: the last state of all ranks and links, and their rates
// between the last two reports. Pure: its input is samples, from a job or from a recording.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "programs/torus_run/monitor/records.h"
#include "routing/torus.h"

namespace torusmp::torus_top {

// The displayed state of one rank.
struct RankView {
    torus_run::RankRecord record;
    bool known = false;
    std::string host;
    double cpu = 0;        // share of a core
    double out = 0;        // bytes per second, on all ways
    double in = 0;         // bytes per second, on all ways
    double messages = 0;   // messages sent per second
    double accesses = 0;   // to windows of all ranks, per second
    bool slowest = false;  // it does not wait, but all others do
    bool busiest = false;  // it sends the most
};

// One direction of a link: from a rank to its neighbour, or to all other ranks together.
struct LinkView {
    int from = -1, to = -1;  // -1 for several
    int way = 0;
    core::WayCounts counts;
    double out = 0;       // bytes per second, moved by any layer
    double packets = 0;   // per second
    double messages = 0;  // of its own, per second
    double relayed = 0;   // bytes per second
    double share = -1;    // of the cable's capacity; -1 if unknown
    double load = 0;      // from 0 to 1, the share, or relative to the busiest
    const torus_run::DeviceRecord* device = nullptr;
    bool busiest = false;

    bool is_link() const { return (counts.flags & core::way_is_link) != 0; }
    bool faulty() const {
        return (counts.flags & (core::way_is_down | core::way_detours)) != 0 ||
               (device != nullptr && device->damaged != 0);
    }
};

struct Totals {
    double seconds = 0;  // since the first sample
    double out = 0, messages = 0, cpu = 0;
    int waiting = 0, computing = 0, active = 0, other = 0, faults = 0;
};

class JobView {
  public:
    explicit JobView(torus_run::JobDescription job);

    void apply(const torus_run::Sample& sample);

    const torus_run::JobDescription& job() const { return job_; }
    const routing::Torus& torus() const { return torus_; }
    std::int64_t now() const { return now_; }
    std::uint64_t samples() const { return samples_; }
    // Whether every rank has reported and rates are known. (A rank without changes reports none.)
    bool complete() const;

    const std::vector<RankView>& ranks() const { return ranks_; }
    // The links that exist, by rank, then by way.
    std::vector<LinkView> links() const;
    std::optional<LinkView> link(int rank, int way) const;
    // How long a rank has been in its current state.
    double seconds_in_state(const RankView& rank) const;
    // For example "waits 12 s in MPI_Recv: message of up to 8 B from rank 3, tag 7".
    std::string describe(const RankView& rank) const;
    const Totals& totals() const { return history_.back(); }
    // One entry per sample, oldest first.
    const std::deque<Totals>& history() const { return history_; }

    // The exit code of the job, once it has ended.
    std::optional<int> exit_code;

  private:
    struct Way {
        core::WayCounts counts, before;
        bool known = false;
    };
    // Successive rates of one rank integrate to its counters: a sample without news from a rank
    // counts as quiet, and the next amounts are spread over the time since then.
    struct Times {
        std::int64_t at = 0;      // when its counters were read
        std::int64_t until = 0;   // end of the time for which rates were computed
        std::int64_t window = 0;  // interval of this sample's rates; 0 without news
        std::uint64_t cpu = 0;
        bool sampled = false;
    };
    void take(const torus_run::RankRecord& record, std::int64_t interval);
    double rate(int rank, std::uint64_t now, std::uint64_t before) const;
    std::optional<int> reverse_way(int rank, int way) const;
    void sum_up();

    torus_run::JobDescription job_;
    routing::Torus torus_;
    std::vector<RankView> ranks_;
    std::vector<std::array<Way, core::page_ways>> ways_;
    std::vector<Times> times_;
    std::map<std::pair<int, int>, torus_run::DeviceRecord> devices_;
    std::int64_t first_ = 0, now_ = 0;
    std::uint64_t samples_ = 0;
    std::deque<Totals> history_{1};
};

// For example "0+", "others".
std::string way_name(int way);
// For example "1.23 GB/s".
std::string rate_text(double bytes_a_second);

}  // namespace torusmp::torus_top

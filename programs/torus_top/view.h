// SPDX-License-Identifier: BSD-3-Clause
// A running job as torus-top knows it: the last state of all ranks and links, and their rates
// between the last two times at which they told. Pure: it is fed with samples, whether they come
// from a job or from a file.
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

namespace torusmp::top {

// What somebody who looks is told of one rank.
struct RankView {
    launch::RankRecord record;
    bool known = false;
    std::string host;
    double cpu = 0;        // share of a core
    double out = 0;        // bytes a second, on all ways
    double in = 0;         // likewise
    double messages = 0;   // sent, a second
    bool slowest = false;  // all wait, and this one does not
    bool busiest = false;  // it sends the most
};

// One way of a link: from a rank to its neighbour, or to all others together.
struct LinkView {
    int from = -1, to = -1;  // -1: several
    int way = 0;
    core::WayCounts counts;
    double out = 0;       // bytes a second, whoever moved them
    double packets = 0;   // a second
    double messages = 0;  // of its own, a second
    double relayed = 0;   // bytes a second
    double share = -1;    // of what the cable can carry; -1: that is not known
    double load = 0;      // from 0 to 1: the share, or compared with the busiest
    const launch::DeviceRecord* device = nullptr;
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
    explicit JobView(launch::JobDescription job);

    void apply(const launch::Sample& sample);

    const launch::JobDescription& job() const { return job_; }
    const routing::Torus& torus() const { return torus_; }
    std::int64_t now() const { return now_; }
    std::uint64_t samples() const { return samples_; }
    // Every rank has told of itself, and there are rates. (One that tells nothing new moves
    // nothing.)
    bool complete() const;

    const std::vector<RankView>& ranks() const { return ranks_; }
    // By rank, then by way; those that exist.
    std::vector<LinkView> links() const;
    std::optional<LinkView> link(int rank, int way) const;
    // How long a rank has been in its state.
    double seconds_in_state(const RankView& rank) const;
    // "waits 12 s in MPI_Recv: message of up to 8 B from rank 3, tag 7"
    std::string describe(const RankView& rank) const;
    const Totals& totals() const { return history_.back(); }
    // One a sample, the oldest first.
    const std::deque<Totals>& history() const { return history_; }

    // What the job was told to be over with, once it is.
    std::optional<int> exit_code;

  private:
    struct Way {
        core::WayCounts counts, before;
        bool known = false;
    };
    // Rates of one rank after the other add up to what it has counted: a sample in which a rank
    // told nothing new counts as quiet, and what comes next was moved since then.
    struct Times {
        std::int64_t at = 0;      // when its counts were taken
        std::int64_t until = 0;   // rates have been given for the time before
        std::int64_t window = 0;  // of the rates of this sample; 0: nothing new
        std::uint64_t cpu = 0;
        bool told = false;
    };
    void take(const launch::RankRecord& record, std::int64_t interval);
    double rate(int rank, std::uint64_t now, std::uint64_t before) const;
    std::optional<int> reverse_way(int rank, int way) const;
    void sum_up();

    launch::JobDescription job_;
    routing::Torus torus_;
    std::vector<RankView> ranks_;
    std::vector<std::array<Way, core::page_ways>> ways_;
    std::vector<Times> times_;
    std::map<std::pair<int, int>, launch::DeviceRecord> devices_;
    std::int64_t first_ = 0, now_ = 0;
    std::uint64_t samples_ = 0;
    std::deque<Totals> history_{1};
};

// "0+", "others"
std::string way_name(int way);
// "1.23 GB/s"
std::string rate_text(double bytes_a_second);

}  // namespace torusmp::top

// SPDX-License-Identifier: BSD-3-Clause
// The causes of a hang, and what all ranks wait for, as a page of text.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "job/hang/analysis.h"

namespace torusmp::job {

// "the cable from n0 eth0 (0+) to n1 eth1 (0-)" for a link of a rank by its direction; empty if the
// link is not carried by a cable.
using NameOfCable = std::function<std::string(Rank, int)>;

// One line, which names the cause: "rank 1 receives tag 77 from rank 0; rank 0 sent tag 78, 4 B".
std::string describe(const Cause& cause, const Snapshot& snapshot, const NameOfCable& name_of = {});

struct Summary {
    std::string first;               // the main result, one line
    std::vector<std::string> lines;  // further causes, and the state of every rank
    bool final = false;              // the job cannot continue
    double least_seconds = 0;        // the shortest wait of the ranks that can never continue

    // The whole text, each line but the first after `indent`.
    std::string text(const std::string& indent = "  ") const;
};
// The maximum number of lines, whatever the number of ranks.
inline constexpr std::size_t most_summary_lines = 20;
Summary summarize(const Snapshot& snapshot, const NameOfCable& name_of = {});

// The report of one rank, for a file: many lines.
std::string report_of(Rank rank, const RankState& state, int ranks);

// "rank 3", "ranks 0-2 and 5"
std::string list_ranks(const std::vector<Rank>& ranks, std::size_t most_runs = 6);

// Leftovers at the end of a program: each line describes an unreceived message, next to the receive
// that it may have been meant for. Empty if nothing is left over.
std::vector<std::string> describe_leftovers(const Waits& waits);

}  // namespace torusmp::job

// SPDX-License-Identifier: BSD-3-Clause
// The causes of a hang, and what all ranks wait for, as a page of text.
#pragma once

#include <string>
#include <vector>

#include "job/hang/analysis.h"

namespace torusmp::job {

// One line, which names the cause: "rank 1 receives tag 77 from rank 0; rank 0 sent tag 78, 4 B".
std::string describe(const Cause& cause, const Snapshot& snapshot);

struct Summary {
    std::string first;               // what matters, one line
    std::vector<std::string> lines;  // further causes, and what every rank does
    bool final = false;              // the job cannot go on
    double least_seconds = 0;        // ranks that can never go on have waited for as long

    // The whole, each line after `indent` but for the first.
    std::string text(const std::string& indent = "  ") const;
};
// At most so many lines, whatever the number of ranks.
inline constexpr std::size_t most_summary_lines = 20;
Summary summarize(const Snapshot& snapshot);

// The report of one rank, for a file: many lines.
std::string report_of(Rank rank, const RankState& state, int ranks);

// "rank 3", "ranks 0-2 and 5"
std::string list_ranks(const std::vector<Rank>& ranks, std::size_t most_runs = 6);

// What is left over where a program ends: each line says a message that nothing asked for, next to
// the receive that it may have been meant for. Nothing is left: empty.
std::vector<std::string> describe_leftovers(const Waits& waits);

}  // namespace torusmp::job

// SPDX-License-Identifier: BSD-3-Clause
// What compare-peers has measured of other libraries: a table of its own, or beside figures of
// ours.
//
// One thread; a file is read, the rest are pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "bench/figures/read_figures.h"

namespace torusmp::bench {

// What others must have measured to stand beside ours.
struct PeerJob {
    int ranks = 0;       // of collectives; messages go between two ranks in any job
    bool links = false;  // between hosts, else inside one
};

// What compare-peers --json writes, a row a measure; with a job, those that are like it. Throws
// std::runtime_error that says what was found and what was expected.
Recorded read_peers(const std::string& file, const std::optional<PeerJob>& job = {});

// Puts the figures of `peers`, a table that read_peers() has made, beside those of a table that
// torus-bench has made by this command (latency, bandwidth or collectives): columns and curves of
// each library, and ours to the best of them. How many figures there were.
std::size_t put_beside(Table& table, std::string_view command, const Table& peers);

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
// The measurements of other libraries by compare-peers: as a separate table, or as columns beside
// torusmp's figures.
//
// Used by one thread. One function reads a file; the others are pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "bench/figures/read_figures.h"

namespace torusmp::bench {

// The conditions under which peers' measurements are comparable.
struct PeerJob {
    int ranks = 0;       // of collectives; messages go between two ranks in any job
    bool links = false;  // between hosts; else within one host
};

// Reads the file of compare-peers --json, one row per measure; with `job`, only comparable
// measures. Throws std::runtime_error that states what was found and what was expected.
Recorded read_peers(const std::string& file, const std::optional<PeerJob>& job = {});

// Adds the figures of `peers`, a table from read_peers(), to a table that torus-bench made with
// this command (latency, bandwidth or collectives): columns and curves of each library, and the
// ratio of torusmp to the best. Returns the number of figures added.
std::size_t put_beside(Table& table, std::string_view command, const Table& peers);

}  // namespace torusmp::bench

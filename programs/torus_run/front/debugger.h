// SPDX-License-Identifier: BSD-3-Clause
// The process table for parallel debuggers: the process of each rank, published through the
// interface that launchers of MPI have in common (MPIR Process Acquisition Interface 1.0). The
// table is kept in the front, the process that a user's debugger starts or attaches to; the head
// fills it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace torusmp::torus_run {

struct ProcessEntry {
    int pid = 0;
    std::string host;
    std::string program;
};

// Maximum size in bytes of one message on the socket between front and head.
inline constexpr std::size_t longest_process_table = std::size_t(128) << 10;
// Sent by the front to the head in place of a signal number.
inline constexpr int debugger_has_looked = -1;

// Whether a debugger has started torus-run and waits for its ranks.
bool under_debugger();
// Sends the table, indexed by rank, from the head to the front.
void send_process_table(int front, const std::vector<ProcessEntry>& ranks);
// Handles a message from the head in the front. Returns true when the table is complete and a
// waiting debugger has read it.
bool show_to_debugger(std::span<const std::byte> bytes);

}  // namespace torusmp::torus_run

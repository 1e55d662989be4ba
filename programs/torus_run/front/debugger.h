// SPDX-License-Identifier: BSD-3-Clause
// What a parallel debugger reads in torus-run: the process of each rank, by the interface that
// launchers of MPI have in common (MPIR Process Acquisition Interface 1.0). The table is kept in
// the front, the process that a user's debugger starts or attaches to; the head fills it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace torusmp::launch {

struct ProcessEntry {
    int pid = 0;
    std::string host;
    std::string program;
};

// Of the bytes of one message on the socket between front and head.
inline constexpr std::size_t longest_process_table = std::size_t(128) << 10;
// What the front tells the head, in place of a signal.
inline constexpr int debugger_has_looked = -1;

// Whether a debugger has started torus-run, and waits for its ranks.
bool under_debugger();
// The head tells the front; by rank.
void send_process_table(int front, const std::vector<ProcessEntry>& ranks);
// The front takes a message of the head. True: the table is whole, and a debugger that waits for it
// has seen it.
bool show_to_debugger(std::span<const std::byte> bytes);

}  // namespace torusmp::launch

// SPDX-License-Identifier: BSD-3-Clause
// Texts for messages: signals, exit statuses, lists of ranks.
#pragma once

#include <string>
#include <vector>

namespace torusmp::torus_run {

// For example "SIGSEGV (Segmentation fault)".
std::string signal_name(int signal);
// Describes waitpid's status: "was killed by SIGSEGV (Segmentation fault), core dumped", "exited
// with code 3".
std::string describe_end(int status);
// The exit code as a shell reports it: the program's own, or 128 + the signal.
int exit_code_of(int status);

// For example "rank 3", "ranks 2 and 3", "ranks 4 to 7".
std::string list_ranks(const std::vector<int>& ranks);

}  // namespace torusmp::torus_run

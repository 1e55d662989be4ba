// SPDX-License-Identifier: BSD-3-Clause
// Text for messages.
#pragma once

#include <string>
#include <vector>

namespace torusmp::launch {

// "SIGSEGV (Segmentation fault)".
std::string signal_name(int signal);
// waitpid's status: "was killed by SIGSEGV (Segmentation fault), core dumped", "exited with code
// 3".
std::string describe_end(int status);
// What a shell would give: the exit code, or 128 + the signal.
int exit_code_of(int status);

// "rank 3", "ranks 2 and 3", "ranks 4 to 7".
std::string list_ranks(const std::vector<int>& ranks);

}  // namespace torusmp::launch

// SPDX-License-Identifier: BSD-3-Clause
// Text for messages.
#pragma once

#include <string>

namespace torusmp::launch {

// "SIGSEGV (Segmentation fault)".
std::string signal_name(int signal);
// waitpid's status: "was killed by SIGSEGV (Segmentation fault), core dumped", "exited with code
// 3".
std::string describe_end(int status);
// What a shell would give: the exit code, or 128 + the signal.
int exit_code_of(int status);

}  // namespace torusmp::launch

// SPDX-License-Identifier: BSD-3-Clause
// Why a program that was run has failed, of all that it and its ranks have printed.
#pragma once

#include <string>

namespace torusmp::bench {

// One line. What a program of ours or its interface said in its own name, before what a launcher
// says became of the ranks; of any other program its last line.
std::string reason_of(const std::string& printed, int exit_code);

}  // namespace torusmp::bench

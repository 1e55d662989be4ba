// SPDX-License-Identifier: BSD-3-Clause
// Finds the cause of a program's failure in the output of the program and its ranks.
#pragma once

#include <string>

namespace torusmp::bench {

// Returns one line. A message of torusmp's programs takes precedence over a launcher's report about
// the ranks; for any other program it is the last line.
std::string reason_of(const std::string& printed, int exit_code);

}  // namespace torusmp::bench

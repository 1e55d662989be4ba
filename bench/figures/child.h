// SPDX-License-Identifier: BSD-3-Clause
// Runs a program to its end and captures its output. One at a time, from one thread.
#pragma once

#include <string>
#include <vector>

namespace torusmp::bench {

struct Ended {
    int code = 0;      // exit code, or 128 + the signal
    std::string text;  // everything printed on both streams
};

// Searches the first word in PATH. If the program cannot be started, the code is 1 and the text
// explains why. Throws std::system_error if no pipe can be made.
Ended run_program_whole(std::vector<std::string> words);

// From now on a signal that ends this process also ends the program that runs.
void end_children_with_us();

}  // namespace torusmp::bench

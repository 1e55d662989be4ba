// SPDX-License-Identifier: BSD-3-Clause
// The tables of files that torus-bench --json has written, to be drawn again.
#pragma once

#include <string>
#include <vector>

#include "bench/torus_bench/figures.h"

namespace torusmp::bench {

struct Recorded {
    std::string command;
    std::vector<Fact> facts;
    Table table;
};

// Throws std::runtime_error that names the file, what was found and what was expected.
Recorded read_figures(const std::string& file);

// Several files in one: the curves of each, named by its file. Throws std::runtime_error for tables
// whose rows are not of the same kind.
Table overlay(const std::vector<std::string>& files, const std::vector<Recorded>& recorded);

}  // namespace torusmp::bench

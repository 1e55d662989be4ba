// SPDX-License-Identifier: BSD-3-Clause
// The tables of files that torus-bench --json has written, to be drawn again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "bench/figures/figures.h"

namespace torusmp::bench {

struct Recorded {
    std::string command;
    std::vector<Fact> facts;
    Table table;
    std::vector<LinkTraffic> links = {};
};

// A member of an object in a file that `by` writes. Throws std::runtime_error where it is missing
// or of another kind.
const base::Json& recorded_member(const base::Json& object, std::string_view name,
                                  base::Json::Kind kind,
                                  std::string_view by = "torus-bench --json");
std::string recorded_text(const base::Json& object, std::string_view name,
                          std::string_view by = "torus-bench --json");

// Throws std::runtime_error that says what was found and what was expected.
Recorded recorded_of(const base::Json& json);
// The same of a file, which the error names.
Recorded read_figures(const std::string& file);

// Several files in one: the curves of each, named by its file. Throws std::runtime_error for tables
// whose rows are not of the same kind.
Table overlay(const std::vector<std::string>& files, const std::vector<Recorded>& recorded);

}  // namespace torusmp::bench

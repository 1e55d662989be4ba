// SPDX-License-Identifier: BSD-3-Clause
// Reads the tables of files written by torus-bench --json, to draw them again.
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

// Returns a member of an object in a file written by `by`. Throws std::runtime_error if it is
// missing or has another type.
const base::Json& recorded_member(const base::Json& object, std::string_view name,
                                  base::Json::Kind kind,
                                  std::string_view by = "torus-bench --json");
std::string recorded_text(const base::Json& object, std::string_view name,
                          std::string_view by = "torus-bench --json");

// Throws std::runtime_error that states what was found and what was expected.
Recorded recorded_of(const base::Json& json);
// recorded_of() for the content of a file. Errors name the file.
Recorded read_figures(const std::string& file);

// Combines several files: the curves of each are named after the file. Throws std::runtime_error if
// the tables have rows of different kinds.
Table overlay(const std::vector<std::string>& files, const std::vector<Recorded>& recorded);

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
// What the tests of this folder run, as the build made it, and what they look for in its output.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#define CHECK_CONTAINS(text, piece) CHECK_THAT(text, Catch::Matchers::Contains(piece))

namespace torusmp::launch::test {

using Words = std::vector<std::string>;

inline const std::string torus_run = TORUS_RUN;
inline const std::string rank_program = RANK_PROGRAM;

}  // namespace torusmp::launch::test

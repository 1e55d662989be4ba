// SPDX-License-Identifier: BSD-3-Clause
// The programs that the tests of this folder run, as built, and the texts expected in their output.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#define CHECK_CONTAINS(text, piece) CHECK_THAT(text, Catch::Matchers::Contains(piece))

namespace torusmp::torus_run::test {

using Words = std::vector<std::string>;

inline const std::string torus_run = TORUS_RUN;
inline const std::string rank_program = RANK_PROGRAM;

}  // namespace torusmp::torus_run::test

// What the tests of this folder run, as the build made it.
#pragma once

#include <string>

namespace torusmp::launch::test {

inline const std::string torus_run = TORUS_RUN;
inline const std::string rank_program = RANK_PROGRAM;

}  // namespace torusmp::launch::test

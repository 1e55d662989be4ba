// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/installed.h"

namespace torusmp::torus_run {

const char* const libraries_from_programs = TORUSMP_LIBRARIES_FROM_PROGRAMS;

}  // namespace torusmp::torus_run

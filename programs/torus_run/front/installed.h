// SPDX-License-Identifier: BSD-3-Clause
// Where an installation has its parts.
#pragma once

namespace torusmp::torus_run {

// The folder of the libraries, relative to the programs' folder.
extern const char* const libraries_from_programs;

}  // namespace torusmp::torus_run

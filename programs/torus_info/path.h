// SPDX-License-Identifier: BSD-3-Clause
// How a job would access a file: for each of its hosts the file system there, and how its ranks
// reach the file.
#pragma once

#include <string>

#include "config/settings.h"

namespace torusmp::torus_info {

// Collective over the ranks of a job, of which the first prints; alone, about this host. Returns an
// exit code. Throws BootstrapError.
int explain_path(const std::string& path, const config::Settings& settings);

}  // namespace torusmp::torus_info

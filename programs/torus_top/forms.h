// SPDX-License-Identifier: BSD-3-Clause
// Formats a job's view for programs: JSON, CSV, OpenMetrics. Pure functions.
#pragma once

#include <string>

#include "programs/torus_top/view.h"

namespace torusmp::torus_top {

// One object on one line, with a newline at the end.
std::string to_json(const JobView& view);
// One line per rank, or per link, below a header line.
std::string ranks_to_csv(const JobView& view);
std::string links_to_csv(const JobView& view);
std::string to_open_metrics(const JobView& view);

}  // namespace torusmp::torus_top

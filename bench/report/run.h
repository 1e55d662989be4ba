// SPDX-License-Identifier: BSD-3-Clause
// Runs the parts of a report, each in separate processes, and reads their results.
//
// One thread. A part that fails is not an error: it is recorded with its reason.
#pragma once

#include <string>

#include "bench/report/plan.h"
#include "bench/report/record.h"

namespace torusmp::bench {

struct ReportPrograms {
    std::string bench, torus_run;
    std::string wilson, peers;  // paths; empty if not installed
};
ReportPrograms find_programs();

// Each figure takes `seconds`. `scratch` is a file that the part may write; it is removed.
RecordedPart run_part(const ReportPart& part, const ReportPrograms& programs, double seconds,
                      const std::string& scratch);

// Converts the output of wilson to a table with a row for these ranks; each text is one run. Throws
// std::runtime_error for a text without times.
Table wilson_table(int ranks, const std::vector<std::string>& texts);

}  // namespace torusmp::bench

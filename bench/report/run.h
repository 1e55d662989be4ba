// SPDX-License-Identifier: BSD-3-Clause
// Runs the parts of a report, each in processes of its own, and reads what they found.
//
// One thread. A part that fails is no error: it is recorded with its reason.
#pragma once

#include <string>

#include "bench/report/plan.h"
#include "bench/report/record.h"

namespace torusmp::bench {

struct ReportPrograms {
    std::string bench, torus_run;
    std::string wilson, peers;  // empty: not there
};
ReportPrograms find_programs();

// From now on a signal that ends this process ends what run_part() has started.
void end_children_with_us();

// seconds: for each figure. scratch: a file that the part may write and that is removed.
RecordedPart run_part(const ReportPart& part, const ReportPrograms& programs, double seconds,
                      const std::string& scratch);

// What wilson prints, as a table with a row for these ranks; each text is a run of it. Throws
// std::runtime_error for a text without its times.
Table wilson_table(int ranks, const std::vector<std::string>& texts);

}  // namespace torusmp::bench

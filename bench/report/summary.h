// SPDX-License-Identifier: BSD-3-Clause
// The first lines of a report: its main results.
//
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include "bench/report/record.h"

namespace torusmp::bench {

struct SummaryRow {
    std::string what;   // "half a round trip of 16 B"
    std::string value;  // "9.1 us"
};

std::vector<SummaryRow> summary_of(const ReportRecord& record);

// Whether a part has no figures because the machine lacks an optional capability: the report tried
// a transport that the hosts do not support. Not an error.
bool is_absent(const RecordedPart& part);

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
// The figures of the papers beside those of a report: docs/papers.md has the whole story.
//
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include "bench/report/record.h"

namespace torusmp::bench {

struct PaperRow {
    std::string paper;   // "Mesh"
    std::string what;    // "latency, neighbours"
    std::string theirs;  // "18.5 us"
    std::string ours;    // "9.1 us"; where the report has it not: how to measure it
    bool measured = false;
};

std::vector<PaperRow> papers_beside(const ReportRecord& record);

}  // namespace torusmp::bench

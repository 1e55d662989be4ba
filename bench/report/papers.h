// SPDX-License-Identifier: BSD-3-Clause
// Compares the figures of the papers with those of a report; docs/papers.md has the details.
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
    std::string ours;    // "9.1 us"; if the report does not have it: how to measure it
    bool measured = false;
};

std::vector<PaperRow> papers_beside(const ReportRecord& record);

}  // namespace torusmp::bench

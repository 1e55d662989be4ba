// SPDX-License-Identifier: BSD-3-Clause
// The file of a report: every part that was run, with all its samples. From it the page is made
// again, a report goes on where it was cut off, and a later one is compared.
//
// Plain values; the file is written whole or not at all.
#pragma once

#include <string>
#include <vector>

#include "bench/figures/read_figures.h"

namespace torusmp::bench {

struct RecordedPart {
    std::string name;
    std::string section;
    std::string overlay;
    std::string command;   // as a user would type it
    std::string failure;   // why there are no figures; empty: there are
    double took = 0;       // seconds
    Recorded result = {};  // what torus-bench --json writes
};

struct ReportRecord {
    std::string machine;  // which ranks and settings it is of, for telling records apart
    std::string version;  // of torusmp, with the commit where that is known
    std::string began;
    double seconds = 0;  // the time for a figure
    std::vector<RecordedPart> parts;

    const RecordedPart* find(const std::string& name) const;
};

// Throws std::runtime_error that names the file, what was found and what was expected.
ReportRecord read_record(const std::string& file);
std::string as_json(const ReportRecord& record);

// Whole or not at all, even if the disk is full. Throws std::runtime_error.
void write_whole(const std::string& file, const std::string& text);

}  // namespace torusmp::bench

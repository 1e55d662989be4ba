// SPDX-License-Identifier: BSD-3-Clause
// The file of a report: every part that was run, with all its samples. It is used to render the
// page again, to resume an interrupted report, and to compare with a later one.
//
// Plain values; the file is written completely or not at all.
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
    std::string failure;   // why figures are missing; empty if they exist
    double took = 0;       // seconds
    Recorded result = {};  // the content of torus-bench --json
};

struct ReportRecord {
    std::string machine;  // identifies ranks and settings, to distinguish records
    std::string version;  // of torusmp, with the commit if known
    std::string began;
    double seconds = 0;  // the time for a figure
    std::vector<RecordedPart> parts;

    const RecordedPart* find(const std::string& name) const;
};

// Throws std::runtime_error that names the file, and states what was found and expected.
ReportRecord read_record(const std::string& file);
std::string as_json(const ReportRecord& record);

// Writes a file completely or not at all, even if the disk is full. Throws std::runtime_error.
void write_whole(const std::string& file, const std::string& text);

}  // namespace torusmp::bench

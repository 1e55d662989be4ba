// SPDX-License-Identifier: BSD-3-Clause
// The report as one page of HTML that needs no other file: pictures as SVG, tables, and what they
// mean.
//
// A pure function.
#pragma once

#include <string>

#include "bench/report/record.h"

namespace torusmp::bench {

struct PageInput {
    const ReportRecord& record;
    std::string samples;                   // the file with all samples, as the page names it
    const ReportRecord* before = nullptr;  // --compare
    std::string before_name = {};
    std::size_t planned = 0;  // parts; more than the record has: the report is not whole
};

std::string as_html(const PageInput& input);

}  // namespace torusmp::bench

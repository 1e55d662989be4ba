// SPDX-License-Identifier: BSD-3-Clause
// The report as one self-contained page of HTML: a summary, pictures as SVG, tables, and their
// meaning.
//
// Pure except for `draw`, which is called once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/figures/plot.h"
#include "bench/report/record.h"

namespace torusmp::bench {

struct PageInput {
    const ReportRecord& record;
    // path of the file with all samples, as linked by the page
    std::string samples;
    const ReportRecord* before = nullptr;  // --compare
    std::string before_name = {};
    std::size_t planned = 0;  // parts; if more than in the record, the report is incomplete
};

// Draws the pictures as SVG, in the same order.
using Draw = std::function<std::vector<std::string>(const std::vector<Drawing>&)>;

std::string as_html(const PageInput& input, const Draw& draw);

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/summary.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "bench/report/derived.h"
#include "bench/report/plan.h"

namespace torusmp::bench {
namespace {

const Table* measured(const ReportRecord& record, const std::string& part) {
    const RecordedPart* const found = record.find(part);
    return found != nullptr && found->failure.empty() ? &found->result.table : nullptr;
}

class SummaryRows {
  public:
    explicit SummaryRows(const ReportRecord& record) : record_(record) {}

    // Returns the value of our column in the first or the last row that has one.
    void add(const std::string& what, const std::string& part, std::string_view name, bool last) {
        const Table* const table = measured(record_, part);
        if (table == nullptr) return;
        for (const std::string_view group : {"", "torusmp", "sum"})
            for (std::size_t c = 0; c < table->columns.size(); ++c)
                if (table->columns[c].group == group && table->columns[c].name == name)
                    return add_column(what, *table, c, last);
    }
    void add(const std::string& what, const std::string& value) { rows_.push_back({what, value}); }
    const std::vector<SummaryRow>& rows() const { return rows_; }

  private:
    void add_column(const std::string& what, const Table& table, std::size_t column, bool last) {
        const Row* found = nullptr;
        for (const Row& row : table.rows)
            if (!row.beside && std::isfinite(row.figures[column].value) &&
                (found == nullptr || last))
                found = &row;
        if (found != nullptr)
            add(fmt::format("{} of {}", what, row_name(table, *found)),
                fmt::format("{} {}", shorten(found->figures[column].value),
                            table.columns[column].unit));
    }

    const ReportRecord& record_;
    std::vector<SummaryRow> rows_;
};

// The number of measures in which torusmp is faster than each library.
void add_peers_summary(SummaryRows& rows, const ReportRecord& record) {
    for (const char* const part : {"peers", "peers on this host"}) {
        const Table* const table = measured(record, part);
        if (table == nullptr) continue;
        for (std::size_t c = 0; c < table->columns.size(); ++c) {
            if (table->columns[c].group != "ratio") continue;
            int ahead = 0, all = 0;
            for (const Row& row : table->rows) {
                if (!std::isfinite(row.figures[c].value)) continue;
                ++all;
                ahead += row.figures[c].value < 1;
            }
            rows.add("beside " + table->columns[c].name,
                     fmt::format("ahead in {} of {} measures", ahead, all));
        }
    }
}

}  // namespace

bool is_absent(const RecordedPart& part) {
    return !part.failure.empty() && part.command.find("--set transport.use=") != std::string::npos;
}

std::vector<SummaryRow> summary_of(const ReportRecord& record) {
    SummaryRows rows(record);
    rows.add("half a round trip", "latency", "median", false);
    rows.add("one way between two ranks, messages", "bandwidth", "one way", true);
    for (int d = 6; d > 0; --d)
        if (const Table* const node = measured(record, "node"))
            if (const auto rate =
                    last_figure_of(*node, fmt::format("{}-D exchange", d), "a node")) {
                rows.add("all links of a node at once", shorten(*rate) + " MB/s");
                break;
            }
    if (const Table* const table = measured(record, "broadcast and sum"))
        if (const auto time = figure_of(*table, "sum", "automatic", 8))
            rows.add("sum of 8 B over all ranks", shorten(*time) + " us");
    add_peers_summary(rows, record);
    std::size_t done = 0;
    std::vector<std::string> absent, failed;
    for (const RecordedPart& part : record.parts) {
        if (part.failure.empty())
            ++done;
        else
            (is_absent(part) ? absent : failed).push_back(part.name);
    }
    rows.add("parts measured", std::to_string(done));
    if (!absent.empty()) rows.add("not available here", fmt::format("{}", fmt::join(absent, ", ")));
    if (!failed.empty()) rows.add("failed", fmt::format("{}", fmt::join(failed, ", ")));
    return rows.rows();
}

}  // namespace torusmp::bench

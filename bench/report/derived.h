// SPDX-License-Identifier: BSD-3-Clause
// Derives further tables from the figures of a report, without measuring again.
//
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/figures/figures.h"

namespace torusmp::bench {

// The median of the column with this group and name at the row's number; nothing if there is none.
std::optional<double> figure_of(const Table& table, std::string_view group, std::string_view name,
                                std::size_t row);
// figure_of() for the last of the table's exact rows.
std::optional<double> last_figure_of(const Table& table, std::string_view group,
                                     std::string_view name);

// NetPIPE's signature of a sweep: throughput against time.
Table signature_of(const Table& sweep);
// The values that NetPIPE calls latency, saturation etc.: one row for torusmp and one for a bare
// socket.
Table saturation_of(const Table& sweep);

// Combines the rows of tables with the same columns, from parts that measured one row each.
Table rows_of_all(const std::vector<const Table*>& tables);

}  // namespace torusmp::bench

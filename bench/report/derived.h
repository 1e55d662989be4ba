// SPDX-License-Identifier: BSD-3-Clause
// What is read off the figures of a report without measuring anything again.
//
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/figures/figures.h"
#include "routing/torus.h"

namespace torusmp::bench {

// Of the column with this group and name at this row's number: its median. Nothing, if there is
// none.
std::optional<double> figure_of(const Table& table, std::string_view group, std::string_view name,
                                std::size_t row);
// The same at the last of the table's exact rows.
std::optional<double> last_figure_of(const Table& table, std::string_view group,
                                     std::string_view name);

// NetPIPE's signature of a sweep: throughput against time.
Table signature_of(const Table& sweep);
// What it calls latency, saturation and the like: a row for ours and one for a bare socket.
Table saturation_of(const Table& sweep);

// The same columns, the rows of all: parts that each measured one row.
Table rows_of_all(const std::vector<const Table*>& tables);

// The torus with each of its links as fast as it was: nodes as squares, a bar into a node for what
// it receives by that link. Nothing where the torus has more dimensions than a map.
std::string link_map_as_svg(const routing::Torus& torus, const std::vector<LinkRate>& rates,
                            const std::string& subtitle);

}  // namespace torusmp::bench

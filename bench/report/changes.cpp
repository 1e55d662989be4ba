// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace torusmp::bench {
namespace {

// With this many samples of each, two equal distributions are separated by chance once in 1700
// times.
constexpr std::size_t enough_samples = 7;
constexpr double least_change = 0.02;  // smaller changes are not reported

std::string heading_of(const Column& column) {
    if (column.group.empty()) return column.name;
    return column.name.empty() ? column.group : column.group + ", " + column.name;
}

std::optional<std::size_t> same_column(const Table& table, const Column& wanted) {
    for (std::size_t at = 0; at < table.columns.size(); ++at) {
        const Column& column = table.columns[at];
        if (column.group == wanted.group && column.name == wanted.name &&
            column.unit == wanted.unit)
            return at;
    }
    return std::nullopt;
}

const Row* same_row(const Table& table, const Row& wanted) {
    for (const Row& row : table.rows)
        if (row.bytes == wanted.bytes && row.label == wanted.label) return &row;
    return nullptr;
}

bool is_time(const std::string& unit) {
    return unit == "us" || unit == "ms" || unit == "s" || unit == "s/GB";
}
bool is_rate(const std::string& unit) {
    return unit == "MB/s" || unit == "MB/s a core" || unit == "Gflop/s";
}

}  // namespace

bool beyond_noise(const Figure& before, const Figure& now) {
    if (before.samples.empty() || now.samples.empty() || !(before.value > 0) || !(now.value > 0))
        return false;
    if (std::abs(now.value / before.value - 1) < least_change) return false;
    const auto [low0, high0] = std::minmax_element(before.samples.begin(), before.samples.end());
    const auto [low1, high1] = std::minmax_element(now.samples.begin(), now.samples.end());
    const double gap = std::max(*low1 - *high0, *low0 - *high1);
    if (std::min(before.samples.size(), now.samples.size()) >= enough_samples) return gap > 0;
    // A single sample has no scatter; a tenth of it is assumed to be noise.
    const double scatter =
        std::max({*high0 - *low0, *high1 - *low1, 0.1 * std::min(before.value, now.value)});
    return gap > scatter;
}

std::vector<Change> changes_between(const Table& before, const Table& now) {
    std::vector<Change> changes;
    if (before.key != now.key) return changes;
    for (std::size_t c = 0; c < now.columns.size(); ++c) {
        const Column& column = now.columns[c];
        const auto at = same_column(before, column);
        const bool time = is_time(column.unit);
        if ((!time && !is_rate(column.unit)) || !at) continue;
        for (const Row& row : now.rows) {
            const Row* const old = row.beside ? nullptr : same_row(before, row);
            if (old == nullptr || !beyond_noise(old->figures[*at], row.figures[c])) continue;
            const double was = old->figures[*at].value, is = row.figures[c].value;
            changes.push_back({fmt::format("{}: {}", row_name(now, row), heading_of(column)),
                               column.unit, was, is, time ? is / was : was / is});
        }
    }
    return changes;
}

}  // namespace torusmp::bench

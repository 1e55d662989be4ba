// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/derived.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace torusmp::bench {
namespace {

std::optional<std::size_t> column_at(const Table& table, std::string_view group,
                                     std::string_view name) {
    for (std::size_t c = 0; c < table.columns.size(); ++c)
        if (table.columns[c].group == group && table.columns[c].name == name) return c;
    return std::nullopt;
}

Figure one(double value) {
    return {value, value, {value}};
}

// The two columns of a sweep that belong together.
struct SweepCurve {
    std::string name;
    std::size_t time, rate;
};

std::vector<SweepCurve> curves_of_sweep(const Table& sweep) {
    std::vector<SweepCurve> curves;
    for (const char* const group : {"", "torusmp", "bare socket"}) {
        const auto time = column_at(sweep, group, "half trip");
        const auto rate = column_at(sweep, group, "bandwidth");
        if (time && rate) curves.push_back({*group ? group : "torusmp", *time, *rate});
    }
    return curves;
}

}  // namespace

std::optional<double> figure_of(const Table& table, std::string_view group, std::string_view name,
                                std::size_t row) {
    const auto column = column_at(table, group, name);
    if (!column) return std::nullopt;
    for (const Row& candidate : table.rows)
        if (candidate.bytes == row && !candidate.beside &&
            std::isfinite(candidate.figures[*column].value))
            return candidate.figures[*column].value;
    return std::nullopt;
}

std::optional<double> last_figure_of(const Table& table, std::string_view group,
                                     std::string_view name) {
    std::optional<double> last;
    for (const Row& row : table.rows)
        if (const auto value = figure_of(table, group, name, row.bytes)) last = value;
    return last;
}

Table signature_of(const Table& sweep) {
    Table table;
    table.key = "time";
    table.title = "NetPIPE's signature: throughput against the time of a message";
    table.x_label = "half a round trip, \u00b5s";
    table.x_scale = 1e-3;  // rows are in ns
    table.y_label = "bandwidth, MB/s";
    const auto curves = curves_of_sweep(sweep);
    for (std::size_t i = 0; i < curves.size(); ++i) {
        table.columns.push_back({"", curves[i].name, "MB/s", Column::Draw::line, int(i)});
        for (const Row& row : sweep.rows) {
            if (row.beside) continue;
            Row point{std::size_t(row.figures[curves[i].time].value * 1e3), {}};
            point.figures.assign(curves.size(), Figure{NAN, NAN, {}});
            point.figures[i] = row.figures[curves[i].rate];
            table.rows.push_back(std::move(point));
        }
    }
    return table;
}

Table saturation_of(const Table& sweep) {
    Table table;
    table.key = "curve";
    table.title = "Of the signature";
    table.columns = {{"", "latency", "us"},
                     {"", "most", "MB/s"},
                     {"", "half of it at", "B", Column::Draw::no, 0, true},
                     {"", "saturation", "B", Column::Draw::no, 0, true}};
    table.notes = {
        "Latency: of the smallest message. Half of it at: the smallest size with half of the "
        "maximum",
        "bandwidth. Saturation: the smallest size with nine tenths; beyond it only the time "
        "grows."};
    for (const SweepCurve& curve : curves_of_sweep(sweep)) {
        double latency = 0, most = 0;
        for (const Row& row : sweep.rows) {
            if (row.beside) continue;
            if (latency == 0) latency = row.figures[curve.time].value;
            most = std::max(most, row.figures[curve.rate].value);
        }
        const auto first_with = [&](double share) {
            for (const Row& row : sweep.rows)
                if (!row.beside && row.figures[curve.rate].value >= share * most)
                    return double(row.bytes);
            return double(NAN);
        };
        table.rows.push_back(
            {0, {one(latency), one(most), one(first_with(0.5)), one(first_with(0.9))}, curve.name});
    }
    return table;
}

Table rows_of_all(const std::vector<const Table*>& tables) {
    Table all = *tables.front();
    for (std::size_t i = 1; i < tables.size(); ++i)
        all.rows.insert(all.rows.end(), tables[i]->rows.begin(), tables[i]->rows.end());
    return all;
}

}  // namespace torusmp::bench

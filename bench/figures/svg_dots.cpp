// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/figures/svg_axis.h"
#include "bench/figures/svg_parts.h"

namespace torusmp::bench {

namespace {

constexpr double dots_left = 300, dots_right = 150, line_height = 20, below = 60;

}  // namespace

std::string dots_as_svg(const Table& table, const std::string& subtitle) {
    const double bottom =
        svg_top + line_height * double(std::max<std::size_t>(table.rows.size(), 1));
    std::vector<std::size_t> drawn;
    SvgRange range;
    for (const Level& level : table.levels) range.include(level.value);
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        if (table.columns[c].draw == Column::Draw::no) continue;
        drawn.push_back(c);
        for (const Row& row : table.rows)
            if (row.figures[c].value > 0 && std::isfinite(row.figures[c].value))
                range.include(row.figures[c].value);
    }
    std::string out = svg_head(table.title, subtitle, 20, bottom + below);
    if (!range.any || range.low <= 0 || table.rows.empty())
        return out + text_at(svg_width / 2, bottom, "middle", 14, "nothing to draw") + "</svg>\n";

    const SvgAxis x =
        SvgAxis::up(range, SvgAxis::Scale::logarithmic, dots_left, svg_width - dots_right);
    for (const SvgTick& tick : x.ticks()) {
        const double at = x.place(tick.value);
        out += line_from(at, svg_top, at, bottom, tick.strong ? "strong" : "weak");
        if (!tick.label.empty()) out += text_at(at, bottom + 18, "middle", 12, tick.label);
    }
    for (const Level& level : table.levels) {
        const double at = x.place(level.value);
        out +=
            line_from(at, svg_top, at, bottom, colour_class(std::size_t(level.colour)) + " level");
    }
    double y = svg_top + line_height / 2;
    for (const Row& row : table.rows) {
        out += line_from(dots_left, y, svg_width - dots_right, y, "weak");
        out += text_at(dots_left - 10, y + 4, "end", 12, row.label);
        for (const std::size_t c : drawn) {
            const double value = row.figures[c].value;
            if (value > 0 && std::isfinite(value))
                out += mark_at(x.place(value), y, std::size_t(table.columns[c].colour), 4);
        }
        y += line_height;
    }
    y = svg_top + 10;
    for (const std::size_t c : drawn) {
        out += mark_at(svg_width - dots_right + 20, y, std::size_t(table.columns[c].colour), 4);
        out += text_at(svg_width - dots_right + 34, y + 4, "start", 12, table.columns[c].name);
        y += line_height;
    }
    out +=
        text_at((dots_left + svg_width - dots_right) / 2, bottom + 42, "middle", 13, table.y_label);
    return out + "</svg>\n";
}

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
#include "bench/figures/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/figures/svg_axis.h"
#include "bench/figures/svg_parts.h"

namespace torusmp::bench {
namespace {

constexpr double width = svg_width, panel_height = 412;
constexpr double left = 84, right = 230, top = svg_top, bottom = 64;  // around the panels
constexpr double between = 28;
struct Point {
    double x, y, low, high;
};

struct Curve {
    std::string name;
    std::string unit;
    std::size_t colour = 0;
    Column::Draw draw = Column::Draw::line;
    std::vector<Point> points;
    std::vector<Point> beside;
    bool banded() const {
        return std::any_of(points.begin(), points.end(),
                           [](const Point& p) { return p.high > p.low * 1.001; });
    }
};

struct Panel {
    std::string label;
    std::vector<Curve> curves;
    std::vector<Level> levels;
    SvgAxis x, y;
};

std::string label_text(std::string text) {
    if (text.size() >= 4 && text.substr(text.size() - 4) == ", us")
        text.replace(text.size() - 2, 2, "\u00b5s");
    return text;
}

std::optional<Point> point_of(const Row& row, const Figure& figure, bool linear) {
    const double y = figure.value;
    const bool drawable = std::isfinite(y) && (linear ? y >= 0 : y > 0 && row.bytes > 0);
    if (!drawable) return std::nullopt;
    Point point{double(row.bytes), y, y, y};
    for (const double sample : figure.samples)
        if (std::isfinite(sample) && (linear || sample > 0)) {
            point.low = std::min(point.low, sample);
            point.high = std::max(point.high, sample);
        }
    return point;
}

std::vector<Curve> curves_of(const Table& table) {
    std::vector<Curve> curves;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const Column& column = table.columns[c];
        if (column.draw == Column::Draw::no) continue;
        Curve curve{column.group.empty() ? column.name : column.group + ", " + column.name,
                    column.unit,
                    std::size_t(column.colour),
                    column.draw,
                    {},
                    {}};
        for (const Row& row : table.rows)
            if (const auto point = point_of(row, row.figures[c], table.linear))
                (row.beside ? curve.beside : curve.points).push_back(*point);
        if (!curve.points.empty() || !curve.beside.empty()) curves.push_back(std::move(curve));
    }
    return curves;
}

// One panel for each unit, in the order in which they come.
std::vector<Panel> panels_of(const Table& table) {
    std::vector<Panel> panels;
    std::vector<std::string> units;
    for (Curve& curve : curves_of(table)) {
        auto unit = std::find(units.begin(), units.end(), curve.unit);
        if (unit == units.end()) {
            unit = units.insert(units.end(), curve.unit);
            panels.emplace_back();
        }
        panels[std::size_t(unit - units.begin())].curves.push_back(std::move(curve));
    }
    for (std::size_t i = 0; i < panels.size(); ++i) {
        panels[i].label = panels.size() == 1 && !table.y_label.empty() ? label_text(table.y_label)
                                                                       : unit_text(units[i]);
        for (const Level& level : table.levels)
            if (level.unit == units[i] && level.value > 0) panels[i].levels.push_back(level);
    }
    return panels;
}

void find_axes(std::vector<Panel>& panels, const Table& table) {
    SvgRange x;
    for (const Panel& panel : panels)
        for (const Curve& curve : panel.curves)
            for (const auto* points : {&curve.points, &curve.beside})
                for (const Point& p : *points) x.include(p.x);
    const bool sizes = table.key == "bytes";
    double at = top;
    for (Panel& panel : panels) {
        SvgRange y;
        for (const Curve& curve : panel.curves)
            for (const auto* points : {&curve.points, &curve.beside})
                for (const Point& p : *points) y.include(p.low), y.include(p.high);
        for (const Level& level : panel.levels) y.include(level.value);
        const auto scale = table.linear ? SvgAxis::Scale::linear : SvgAxis::Scale::logarithmic;
        panel.x = SvgAxis::across(x,
                                  table.linear ? SvgAxis::Scale::whole_numbers
                                  : sizes      ? SvgAxis::Scale::sizes
                                               : SvgAxis::Scale::logarithmic,
                                  left, width - right);
        panel.y = SvgAxis::up(y, scale, at + panel_height, at);
        at += panel_height + between;
    }
}

std::string grid(const Panel& panel, bool last) {
    std::string out;
    for (const SvgTick& tick : panel.x.ticks()) {
        const double x = panel.x.place(tick.value);
        out += line_from(x, panel.y.begin(), x, panel.y.end(), "weak");
        if (last && !tick.label.empty())
            out += text_at(x, panel.y.begin() + 18, "middle", 12, tick.label);
    }
    for (const SvgTick& tick : panel.y.ticks()) {
        const double y = panel.y.place(tick.value);
        out += line_from(left, y, width - right, y, tick.strong ? "strong" : "weak");
        if (!tick.label.empty()) out += text_at(left - 8, y + 4, "end", 12, tick.label);
    }
    return out + fmt::format(
                     "<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" "
                     "class=\"frame\"/>\n",
                     left, panel.y.end(), width - left - right, panel.y.begin() - panel.y.end());
}

std::string line_class(const Curve& curve) {
    return colour_class(curve.colour) + (curve.draw == Column::Draw::dashes ? " dashes" : " line");
}

// From the least to the greatest sample.
std::string band(const Curve& curve, const Panel& panel) {
    std::string up, down;
    for (const Point& p : curve.points) {
        const double x = panel.x.place(p.x);
        up += fmt::format("{:.1f},{:.1f} ", x, panel.y.place(p.high));
        down = fmt::format("{:.1f},{:.1f} ", x, panel.y.place(p.low)) + down;
    }
    return fmt::format("<polygon points=\"{}\" class=\"{} band\"/>\n", up + down,
                       colour_class(curve.colour));
}

std::string draw(const Curve& curve, const Panel& panel) {
    std::string path, dots;
    for (const Point& p : curve.points) {
        const double x = panel.x.place(p.x), y = panel.y.place(p.y);
        path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x, y);
        dots += mark_at(x, y, curve.colour, 2.6);
    }
    for (const Point& p : curve.beside)
        dots += mark_at(panel.x.place(p.x), panel.y.place(p.y), curve.colour, 1.5);
    if (curve.draw == Column::Draw::points) return dots;
    return fmt::format("<polyline points=\"{}\" class=\"{}\"/>\n{}", path, line_class(curve), dots);
}

std::string draw(const Panel& panel) {
    std::string out;
    for (const Curve& curve : panel.curves)
        if (curve.banded() && curve.draw != Column::Draw::points) out += band(curve, panel);
    for (const Level& level : panel.levels) {
        const double y = panel.y.place(level.value);
        out += line_from(left, y, width - right, y,
                         colour_class(std::size_t(level.colour)) + " level");
    }
    for (const Curve& curve : panel.curves) out += draw(curve, panel);
    return out;
}

std::string legend(const Panel& panel) {
    std::string out;
    double y = panel.y.end() + 10;
    const double x = width - right + 16;
    const auto entry = [&](std::string_view name) {
        out += text_at(x + 36, y + 4, "start", 12, name);
        y += 20;
    };
    for (const Curve& curve : panel.curves) {
        if (curve.draw != Column::Draw::points)
            out += line_from(x, y, x + 28, y, line_class(curve));
        out += mark_at(x + 14, y, curve.colour, 2.6);
        entry(curve.name);
    }
    for (const Level& level : panel.levels) {
        out += line_from(x, y, x + 28, y, colour_class(std::size_t(level.colour)) + " level");
        entry(level.name);
    }
    return out;
}

std::string x_label_of(const Table& table) {
    if (!table.x_label.empty()) return table.x_label;
    return table.key == "bytes" ? "message size, bytes" : table.key;
}

}  // namespace

std::string as_svg(const Table& table, const std::string& subtitle) {
    if (table.key == dots_key) return dots_as_svg(table, subtitle);
    std::vector<Panel> panels = panels_of(table);
    const double count = std::max<double>(1, double(panels.size()));
    const double height = top + count * panel_height + (count - 1) * between + bottom;
    std::string out = svg_head(table.title, subtitle, left, height);
    if (panels.empty())
        return out + text_at(width / 2, height / 2, "middle", 14, "nothing to draw") + "</svg>\n";
    find_axes(panels, table);
    for (const Panel& panel : panels) {
        out += grid(panel, &panel == &panels.back());
        const double middle = (panel.y.begin() + panel.y.end()) / 2;
        out += text_at(22, middle, "middle", 13, panel.label,
                       fmt::format(" transform=\"rotate(-90 22 {:.1f})\"", middle));
        out += draw(panel) + legend(panel);
    }
    out += text_at((left + width - right) / 2, height - 20, "middle", 13, x_label_of(table));
    return out + "</svg>\n";
}

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

namespace torusmp::bench {
namespace {

constexpr double width = 920, height = 540;
constexpr double left = 84, right = 230, top = 64, bottom = 64;  // margins of the plot
// Distinguishable also by readers who see colours poorly (after Okabe and Ito).
constexpr std::array<std::string_view, 7> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#56b4e9", "#e69f00", "#444444"};

struct Point {
    double x, y;
};

struct Curve {
    std::string name;
    std::string_view colour;
    bool dashes;
    std::vector<Point> points;
};

std::string escape(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else if (static_cast<unsigned char>(c) >= 0x20)
            out += c;
    }
    return out;
}

std::vector<Curve> curves_of(const Table& table) {
    std::vector<Curve> curves;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const Column& column = table.columns[c];
        if (column.draw == Column::Draw::no) continue;
        Curve curve{column.group.empty() ? column.name : column.group + ", " + column.name,
                    colours[std::size_t(column.colour) % colours.size()],
                    column.draw == Column::Draw::dashes,
                    {}};
        for (const Row& row : table.rows) {
            const double y = row.figures[c].value;
            if (row.bytes > 0 && std::isfinite(y) && y > 0)
                curve.points.push_back({double(row.bytes), y});
        }
        if (!curve.points.empty()) curves.push_back(std::move(curve));
    }
    return curves;
}

// A logarithmic axis from low to high, drawn from `at_low` to `at_high`.
struct Axis {
    double low, high;
    double at_low, at_high;

    double place(double value) const {
        return at_low + (at_high - at_low) * std::log(value / low) / std::log(high / low);
    }
};

// The largest of 1, 2, 5 times a power of ten that is not above `value`.
double round_down(double value) {
    const double decade = std::pow(10.0, std::floor(std::log10(value) + 1e-9));
    for (const double step : {5.0, 2.0})
        if (step * decade <= value * (1 + 1e-9)) return step * decade;
    return decade;
}

double round_up(double value) {
    double edge = round_down(value);
    if (edge >= value * (1 - 1e-9)) return edge;
    const double decade = std::pow(10.0, std::floor(std::log10(edge) + 1e-9));
    const double step = edge / decade;
    return decade * (step < 1.5 ? 2 : step < 3 ? 5 : 10);
}

struct Axes {
    Axis x, y;
};

Axes axes_of(const std::vector<Curve>& curves) {
    double x0 = HUGE_VAL, x1 = 0, y0 = HUGE_VAL, y1 = 0;
    for (const Curve& curve : curves)
        for (const Point& p : curve.points) {
            x0 = std::min(x0, p.x), x1 = std::max(x1, p.x);
            y0 = std::min(y0, p.y), y1 = std::max(y1, p.y);
        }
    if (x0 == x1) x0 /= 2, x1 *= 2;
    y0 = round_down(y0), y1 = round_up(y1);
    if (y1 < 2 * y0) y0 = round_down(y0 / 2), y1 = round_up(y1 * 1.5);
    return {{x0, x1, left, width - right}, {y0, y1, height - bottom, top}};
}

std::string bytes_label(double bytes) {
    static constexpr std::array<std::string_view, 4> units = {"", "Ki", "Mi", "Gi"};
    std::size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < units.size()) bytes /= 1024, ++unit;
    return fmt::format("{:g}{}", bytes, units[unit]);
}

std::string text_at(double x, double y, std::string_view anchor, int size, std::string_view text,
                    std::string_view more = "") {
    return fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\"{}>{}</text>\n", x, y,
        anchor, size, more, escape(text));
}

std::string grid_line(double x0, double y0, double x1, double y1, bool strong) {
    return fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x0, y0,
        x1, y1, strong ? "#c8c8c8" : "#ececec");
}

std::string x_ticks(const Axis& x) {
    std::string out;
    const double first = std::exp2(std::ceil(std::log2(x.low) - 1e-9));
    const double octaves = std::log2(x.high / first);
    const int step = octaves > 24 ? 4 : octaves > 11 ? 2 : 1;
    for (double value = first; value <= x.high * (1 + 1e-9); value *= std::exp2(step)) {
        out += grid_line(x.place(value), top, x.place(value), height - bottom, false);
        out += text_at(x.place(value), height - bottom + 18, "middle", 12, bytes_label(value));
    }
    return out;
}

// Labels at 1, 2 and 5 of each decade, or at the decades alone where they would crowd.
std::string y_ticks(const Axis& y) {
    std::string out;
    const bool crowded = std::log10(y.high / y.low) > 4.5;
    for (double value = y.low; value <= y.high * (1 + 1e-9); value = round_up(value * (1 + 1e-6))) {
        const double decades = std::log10(value);
        const bool whole = std::abs(decades - std::round(decades)) < 1e-6;
        out += grid_line(left, y.place(value), width - right, y.place(value), whole);
        if (whole || !crowded)
            out += text_at(left - 8, y.place(value) + 4, "end", 12, fmt::format("{:g}", value));
    }
    return out;
}

std::string stroke_of(const Curve& curve) {
    return fmt::format("stroke=\"{}\" stroke-width=\"2\"{}", curve.colour,
                       curve.dashes ? " stroke-dasharray=\"6 4\"" : "");
}

std::string draw(const Curve& curve, const Axes& axes) {
    std::string path, dots;
    for (const Point& p : curve.points) {
        const double x = axes.x.place(p.x), y = axes.y.place(p.y);
        path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x, y);
        dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"{}\"/>\n", x, y,
                            curve.colour);
    }
    return fmt::format("<polyline points=\"{}\" fill=\"none\" {}/>\n{}", path, stroke_of(curve),
                       dots);
}

std::string legend(const std::vector<Curve>& curves) {
    std::string out;
    double y = top + 10;
    for (const Curve& curve : curves) {
        const double x = width - right + 16;
        out += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n",
                           x, y, x + 28, y, stroke_of(curve));
        out += text_at(x + 36, y + 4, "start", 12, curve.name);
        y += 20;
    }
    return out;
}

std::string head(const Table& table, const std::string& subtitle) {
    return fmt::format(
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
               "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" fill=\"#222\">\n"
               "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
               width, height) +
           text_at(left, 26, "start", 16, table.title, " font-weight=\"bold\"") +
           text_at(left, 46, "start", 12, subtitle, " fill=\"#666\"");
}

}  // namespace

std::string as_svg(const Table& table, const std::string& subtitle) {
    const std::vector<Curve> curves = curves_of(table);
    std::string out = head(table, subtitle);
    if (curves.empty())
        return out + text_at(width / 2, height / 2, "middle", 14, "nothing to draw") + "</svg>\n";
    const Axes axes = axes_of(curves);
    out += x_ticks(axes.x) + y_ticks(axes.y);
    out += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n",
        left, top, width - left - right, height - top - bottom);
    const double middle = (top + height - bottom) / 2;
    out += text_at((left + width - right) / 2, height - 20, "middle", 13,
                   table.key == "bytes" ? "message size, bytes" : table.key);
    out += text_at(22, middle, "middle", 13, table.y_label,
                   fmt::format(" transform=\"rotate(-90 22 {:.1f})\"", middle));
    for (const Curve& curve : curves) out += draw(curve, axes);
    return out + legend(curves) + "</svg>\n";
}

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/figures/svg_parts.h"
#include "bench/report/derived.h"

namespace torusmp::bench {
namespace {

constexpr double slow_share = 0.8;  // of what half of the links exceed
constexpr double margin = 24, legend_height = 40;
constexpr int most_dimensions = 4;

// Where a bar for a link of the dimension points, counted from the last: across, down, and twice
// askew.
constexpr std::array<std::array<double, 2>, most_dimensions> ways = {
    {{1, 0}, {0, 1}, {0.72, -0.72}, {0.72, 0.72}}};

// Planes of the last two dimensions beside each other, as many as fit, and then below.
struct Planes {
    int columns, rows, count, across;
    double cell;

    explicit Planes(const routing::Torus& torus) {
        const int n = torus.dimensions();
        columns = torus.extent(n - 1);
        rows = n > 1 ? torus.extent(n - 2) : 1;
        count = torus.size() / (columns * rows);
        cell = std::min(72.0, (svg_width - 2 * margin) / (columns + 0.5));
        across = std::max(1, int((svg_width - 2 * margin) / (cell * (columns + 0.5))));
    }
    double height() const {
        const int down = (count + across - 1) / across;
        return svg_top + down * (rows + 0.5) * cell + legend_height;
    }
    // The middle of a rank; ranks are numbered with the last dimension fastest.
    std::array<double, 2> place(int rank) const {
        const int plane = rank / (columns * rows), inside = rank % (columns * rows);
        return {margin + cell * ((plane % across) * (columns + 0.5) + inside % columns + 0.5),
                svg_top + cell * ((plane / across) * (rows + 0.5) + inside / columns + 0.5)};
    }
};

std::string bar(const Planes& planes, const routing::Torus& torus, const LinkRate& link,
                double usual) {
    const int dimension = link.direction[0] - '0';
    const double sign = link.direction.back() == '+' ? 1 : -1;
    const auto way = ways[std::size_t(torus.dimensions() - 1 - dimension)];
    const auto [x, y] = planes.place(link.receiver);
    const double from = 0.2 * planes.cell, to = 0.46 * planes.cell;
    const double share = link.rate / usual;
    const bool slow = share < slow_share;
    return fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"c{} line\" "
        "style=\"stroke-width:{:.1f}{}\"><title>{} to {} by {}: {} MB/s, {:.0f} % of "
        "usual</title></line>\n",
        x + sign * way[0] * from, y + sign * way[1] * from, x + sign * way[0] * to,
        y + sign * way[1] * to, slow ? 1 : 0, planes.cell / 9 * std::clamp(share, 0.2, 1.5),
        slow ? ";stroke-dasharray:3 2" : "", link.sender, link.receiver, link.direction,
        shorten(link.rate), 100 * share);
}

}  // namespace

std::string link_map_as_svg(const routing::Torus& torus, const std::vector<LinkRate>& rates,
                            const std::string& subtitle) {
    if (rates.empty() || torus.dimensions() > most_dimensions) return "";
    std::vector<double> sorted;
    for (const LinkRate& link : rates) sorted.push_back(link.rate);
    std::sort(sorted.begin(), sorted.end());
    const double usual = sorted[sorted.size() / 2];
    const Planes planes(torus);
    std::string out = svg_head(
        fmt::format("Each link of {}: {} to {} MB/s, half of them above {}", torus.describe(),
                    shorten(sorted.front()), shorten(sorted.back()), shorten(usual)),
        subtitle, margin, planes.height());
    const double box = 0.18 * planes.cell;
    for (int rank = 0; rank < torus.size(); ++rank) {
        const auto [x, y] = planes.place(rank);
        out += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
            "class=\"frame\"/>\n",
            x - box, y - box, 2 * box, 2 * box);
        if (planes.cell >= 36)
            out += text_at(x, y + 4, "middle", 11, std::to_string(rank), " class=\"quiet\"");
    }
    for (const LinkRate& link : rates) out += bar(planes, torus, link, usual);
    const double y = planes.height() - 18;
    out += text_at(margin, y, "start", 12,
                   "A bar is what a rank receives by that link: its width is the speed; dashed in "
                   "the other colour, below 80 % of what half of the links exceed.",
                   " class=\"quiet\"");
    return out + "</svg>\n";
}

}  // namespace torusmp::bench

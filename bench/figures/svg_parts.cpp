// SPDX-License-Identifier: BSD-3-Clause
#include "bench/figures/svg_parts.h"

#include <fmt/format.h>

#include <array>

namespace torusmp::bench {

namespace {

// Distinguishable also by readers who see colours poorly (after Okabe and Ito), on white and on
// black: the second of each pair is for dark surroundings.
struct Paint {
    std::string_view light, dark;
};
constexpr std::array<Paint, paints> palette = {{{"#0072b2", "#4aa8e0"},
                                                {"#d55e00", "#f08030"},
                                                {"#009e73", "#20c090"},
                                                {"#cc79a7", "#e090c0"},
                                                {"#56b4e9", "#90d0ff"},
                                                {"#b07d00", "#e6b020"},
                                                {"#444444", "#c0c0c0"}}};
// Where colours come round again, other marks tell curves apart.
constexpr std::size_t marks = 3;

// Follows the reader's choice of light or dark; where nobody chooses, light.
std::string style() {
    std::string light, dark;
    for (std::size_t i = 0; i < palette.size(); ++i) {
        light += fmt::format(".c{}{{color:{}}}", i, palette[i].light);
        dark += fmt::format(".c{}{{color:{}}}", i, palette[i].dark);
    }
    return "<style>\n"
           "text{fill:#222}.page{fill:#fff}.quiet{fill:#666}.weak{stroke:#ececec}"
           ".strong{stroke:#c8c8c8}.frame{fill:none;stroke:#888}\n"
           ".line,.dashes{fill:none;stroke:currentColor;stroke-width:2}"
           ".dashes{stroke-dasharray:6 4}.mark{fill:currentColor}"
           ".band{fill:currentColor;fill-opacity:.15}"
           ".level{stroke:currentColor;stroke-width:1.5;stroke-dasharray:2 3}\n" +
           light +
           "\n@media (prefers-color-scheme:dark){text{fill:#ddd}.page{fill:#161616}"
           ".quiet{fill:#999}.weak{stroke:#2a2a2a}.strong{stroke:#484848}" +
           dark + "}\n</style>\n";
}

}  // namespace

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

std::string unit_text(std::string_view unit) {
    return unit == "us" ? "\u00b5s" : std::string(unit);
}

std::string svg_head(const std::string& title, const std::string& subtitle, double left,
                     double height) {
    return fmt::format(
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
               "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\">\n",
               svg_width, height) +
           style() +
           fmt::format("<rect width=\"{}\" height=\"{}\" class=\"page\"/>\n", svg_width, height) +
           text_at(left, 26, "start", 16, title, " font-weight=\"bold\"") +
           text_at(left, 46, "start", 12, subtitle, " class=\"quiet\"");
}

std::string text_at(double x, double y, std::string_view anchor, int size, std::string_view text,
                    std::string_view more) {
    return fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\"{}>{}</text>\n", x, y,
        anchor, size, more, escape(text));
}

std::string line_from(double x0, double y0, double x1, double y1, std::string_view classes) {
    return fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x0, y0,
        x1, y1, classes);
}

std::string colour_class(std::size_t colour) {
    return fmt::format("c{}", colour % palette.size());
}

std::string mark_at(double x, double y, std::size_t colour, double size) {
    const std::string classes = colour_class(colour) + " mark";
    switch (colour / palette.size() % marks) {
        case 0:
            return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" class=\"{}\"/>\n", x,
                               y, size, classes);
        case 1:
            return fmt::format(
                "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" class=\"{}\"/>\n",
                x - size, y - size, 2 * size, 2 * size, classes);
        default:
            return fmt::format("<path d=\"M{:.1f},{:.1f}l{},{}h{}z\" class=\"{}\"/>\n", x,
                               y - 1.3 * size, 1.3 * size, 2.3 * size, -2.6 * size, classes);
    }
}

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
// What drawings are made of. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "bench/figures/figures.h"

namespace torusmp::bench {

inline constexpr double svg_width = 920;
inline constexpr double svg_top = 64;  // below title and subtitle

// As text of XML and HTML.
std::string escape(std::string_view text);
// What is plain ASCII in tables is written properly in pictures and pages: "us".
std::string unit_text(std::string_view unit);
// The beginning of the file, with title, subtitle and styles.
std::string svg_head(const std::string& title, const std::string& subtitle, double left,
                     double height);
std::string text_at(double x, double y, std::string_view anchor, int size, std::string_view text,
                    std::string_view more = "");
std::string line_from(double x0, double y0, double x1, double y1, std::string_view classes);
// Colours are numbered; where they come round again, marks differ.
std::string colour_class(std::size_t colour);
std::string mark_at(double x, double y, std::size_t colour, double size);

// Tables whose rows are names, with one value of each drawn column: a line for each row, with a dot
// for each column.
inline constexpr std::string_view dots_key = "measure";
std::string dots_as_svg(const Table& table, const std::string& subtitle);

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
// Draws tables as pictures with the program torus-plot (bench/plot), which needs matplotlib.
//
// Called by one thread; each call runs the program once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/figures/figures.h"
#include "routing/torus.h"

namespace torusmp::bench {

struct Drawing {
    Table table;
    std::string subtitle;  // description of the system
    // Draws the link rates of the table as a map of this torus, in place of its curves.
    std::optional<routing::Torus> map = {};
};

// Throws std::runtime_error that names the package to install if drawing is impossible. Takes part
// of a second; call it before measuring.
void check_can_draw();

// Writes a picture; the file's extension selects the format (.svg, .png, .pdf). Throws
// std::runtime_error with the message of torus-plot.
void draw(const Drawing& drawing, const std::string& file);

// Returns the pictures as SVG, in the same order. Throws std::runtime_error.
std::vector<std::string> as_svg(const std::vector<Drawing>& drawings);

}  // namespace torusmp::bench

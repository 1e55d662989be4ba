// SPDX-License-Identifier: BSD-3-Clause
// What torus-top shows on a terminal: lines of styled text, drawn from a job's view and from what
// the user has chosen. Pure: no terminal is needed to draw, or to understand a key.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "programs/torus_top/view.h"

namespace torusmp::top {

enum class Style {
    plain,
    heading,
    faint,
    waiting,
    computing,
    stopped,
    mark,
    load0,
    load1,
    load2,
    load3,
    fault
};

struct Piece {
    std::string text;
    Style style = Style::plain;
};
using Line = std::vector<Piece>;

enum class Page { ranks, nodes, links, plane, help };
enum class Order { number, state, cpu, out, in, waited };

// What the user has chosen.
struct Choice {
    Page page = Page::ranks;
    Order order = Order::number;
    bool backwards = false;
    std::string filter;   // rows that contain it
    bool typing = false;  // the filter
    bool frozen = false;
    bool quit = false;
    int top = 0;                                          // rows above the screen
    std::array<int, 2> plane{0, 1};                       // its dimensions
    std::array<int, routing::max_dimensions> position{};  // of the plane in the others
    int turning = 2;                                      // the dimension that [ and ] move in
};

// No Unicode keys: what a terminal gives as one int, arrows as these.
enum Key : int { key_up = 1001, key_down, key_page_up, key_page_down, key_backspace };

Choice press(Choice choice, int key, const JobView& view);

// `height` 0: all lines.
std::vector<Line> draw(const JobView& view, const Choice& choice, int width, int height);
std::string plain_text(const std::vector<Line>& lines);

}  // namespace torusmp::top

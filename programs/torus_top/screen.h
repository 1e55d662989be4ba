// SPDX-License-Identifier: BSD-3-Clause
// The display of torus-top: lines of styled text, drawn from a job's view and the user's choices.
// Pure: neither drawing nor handling a key needs a terminal.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "programs/torus_top/view.h"

namespace torusmp::torus_top {

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

// The user's choices.
struct Choice {
    Page page = Page::ranks;
    Order order = Order::number;
    bool backwards = false;
    std::string filter;   // show only rows that contain it
    bool typing = false;  // the user is typing the filter
    bool frozen = false;
    bool quit = false;
    int top = 0;                                          // rows above the screen
    std::array<int, 2> plane{0, 1};                       // its dimensions
    std::array<int, routing::max_dimensions> position{};  // of the plane in the others
    int turning = 2;                                      // the dimension that [ and ] move in
};

// Keys that are not characters. All others are passed as the terminal's int.
enum Key : int { key_up = 1001, key_down, key_page_up, key_page_down, key_backspace };

Choice press(Choice choice, int key, const JobView& view);

// A `height` of 0 means all lines.
std::vector<Line> draw(const JobView& view, const Choice& choice, int width, int height);
std::string plain_text(const std::vector<Line>& lines);

}  // namespace torusmp::torus_top

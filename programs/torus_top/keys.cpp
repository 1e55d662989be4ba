// SPDX-License-Identifier: BSD-3-Clause
// The actions of keys.
#include "programs/torus_top/screen.h"

#include <algorithm>

namespace torusmp::torus_top {
namespace {

int next_dimension(const JobView& view, int dimension, int other) {
    const int count = view.torus().dimensions();
    do dimension = (dimension + 1) % count;
    while (dimension == other && count > 1);
    return dimension;
}

void type(Choice& choice, int key) {
    if (key == '\n' || key == '\r')
        choice.typing = false;
    else if (key == 27) {
        choice.typing = false;
        choice.filter.clear();
    } else if (key == key_backspace || key == 127 || key == 8) {
        if (!choice.filter.empty()) choice.filter.pop_back();
    } else if (key >= ' ' && key < 127) {
        choice.filter += char(key);
    }
}

}  // namespace

Choice press(Choice choice, int key, const JobView& view) {
    if (choice.typing) {
        type(choice, key);
        return choice;
    }
    const auto sort_by = [&](Order order) {
        choice.order = order;
        choice.top = 0;
    };
    const auto show = [&](Page page) {
        choice.page = page;
        choice.top = 0;
    };
    const int dimensions = view.torus().dimensions();
    choice.turning %= dimensions;
    int& place = choice.position[std::size_t(choice.turning)];
    const int extent = view.torus().extent(choice.turning);
    switch (key) {
        case 'q':
            choice.quit = true;
            break;
        case '1':
            show(Page::ranks);
            break;
        case '2':
            show(Page::nodes);
            break;
        case '3':
            show(Page::links);
            break;
        case '4':
            show(Page::plane);
            break;
        case 'h':
        case '?':
            show(choice.page == Page::help ? Page::ranks : Page::help);
            break;
        case 'n':
            sort_by(Order::number);
            break;
        case 's':
            sort_by(Order::state);
            break;
        case 'c':
            sort_by(Order::cpu);
            break;
        case 'o':
            sort_by(Order::out);
            break;
        case 'i':
            sort_by(Order::in);
            break;
        case 'w':
            sort_by(Order::waited);
            break;
        case 'r':
            choice.backwards = !choice.backwards;
            break;
        case ' ':
            choice.frozen = !choice.frozen;
            break;
        case '/':
            choice.typing = true;
            break;
        case 27:
            choice.filter.clear();
            break;
        case 'x':
            choice.plane[0] = next_dimension(view, choice.plane[0], choice.plane[1]);
            break;
        case 'y':
            choice.plane[1] = next_dimension(view, choice.plane[1], choice.plane[0]);
            break;
        case 't':
            choice.turning = (choice.turning + 1) % dimensions;
            break;
        case '[':
            place = (place + extent - 1) % extent;
            break;
        case ']':
            place = (place + 1) % extent;
            break;
        case key_up:
            choice.top = std::max(choice.top - 1, 0);
            break;
        case key_down:
            ++choice.top;
            break;
        case key_page_up:
            choice.top = std::max(choice.top - 20, 0);
            break;
        case key_page_down:
            choice.top += 20;
            break;
        default:
            break;
    }
    return choice;
}

}  // namespace torusmp::torus_top

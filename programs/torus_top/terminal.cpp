// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_top/terminal.h"

#include <ncurses.h>
#include <unistd.h>

#include <clocale>
#include <stdexcept>

namespace torusmp::torus_top {
namespace {

// Colours that are distinct with red-green colour blindness: blue, yellow, magenta, and bold.
class Screen {
  public:
    Screen() {
        if (isatty(STDOUT_FILENO) == 0)
            throw std::runtime_error(
                "standard output is not a terminal. Use --once, --json or --csv");
        std::setlocale(LC_ALL, "");
        if (newterm(nullptr, stdout, stdin) == nullptr)
            throw std::runtime_error("unknown terminal type (TERM): use --once");
        cbreak();
        noecho();
        keypad(stdscr, TRUE);
        set_escdelay(25);
        curs_set(0);
        if (has_colors()) {
            start_color();
            use_default_colors();
            const short colours[] = {COLOR_BLUE, COLOR_CYAN, COLOR_YELLOW, COLOR_MAGENTA};
            for (short i = 0; i < 4; ++i) init_pair(short(i + 1), colours[i], -1);
        }
    }
    ~Screen() { endwin(); }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    void show(const JobView& view, const Choice& choice) {
        erase();
        int y = 0;
        for (const Line& line : draw(view, choice, COLS, LINES)) {
            move(y++, 0);
            for (const Piece& piece : line) {
                attrset(attribute(piece.style));
                addstr(piece.text.c_str());
            }
        }
        attrset(A_NORMAL);
        refresh();
    }

    // Returns -1 if no key was pressed within that time.
    static int key(int milliseconds) {
        timeout(milliseconds);
        const int key = getch();
        switch (key) {
            case KEY_UP:
                return key_up;
            case KEY_DOWN:
                return key_down;
            case KEY_PPAGE:
                return key_page_up;
            case KEY_NPAGE:
                return key_page_down;
            case KEY_BACKSPACE:
                return key_backspace;
            default:
                return key;
        }
    }

  private:
    static attr_t attribute(Style style) {
        switch (style) {
            case Style::heading:
                return A_BOLD | A_REVERSE;
            case Style::faint:
            case Style::load0:
                return A_DIM;
            case Style::waiting:
            case Style::load2:
                return attr_t(COLOR_PAIR(3));
            case Style::computing:
            case Style::load1:
                return attr_t(COLOR_PAIR(2));
            case Style::stopped:
            case Style::fault:
                return attr_t(COLOR_PAIR(4)) | A_BOLD | A_REVERSE;
            case Style::load3:
                return attr_t(COLOR_PAIR(3)) | A_BOLD;
            case Style::mark:
                return attr_t(COLOR_PAIR(4)) | A_BOLD;
            case Style::plain:
                break;
        }
        return A_NORMAL;
    }
};

constexpr int key_timeout = 50;  // ms

}  // namespace

int show_on_terminal(Feed& feed, JobView& view, Choice choice, Recorder* recorder) {
    Screen screen;
    while (!choice.quit) {
        bool news = false;
        if (auto sample = feed.next(std::chrono::milliseconds(0))) {
            if (recorder != nullptr) recorder->add(*sample);
            if (!choice.frozen) view.apply(*sample);
            news = true;
        }
        if (feed.over() && !view.exit_code && feed.exit_code()) {
            view.exit_code = feed.exit_code();
            news = true;
        }
        const int key = Screen::key(key_timeout);
        if (key != ERR) choice = press(choice, key, view);
        if (news || key != ERR) screen.show(view, choice);
    }
    return 0;
}

}  // namespace torusmp::torus_top

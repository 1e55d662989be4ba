// SPDX-License-Identifier: BSD-3-Clause
// Finds slow cables by test transfers.
//
// A busy host makes a good cable look slow, but nothing makes a slow one look fast. So a cable
// counts as it did in its best transfer, is compared with similar cables, and is named
// only if it stays behind when it is measured alone, again and again, in turns with a good one.
// Pure bookkeeping; used by one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "programs/torus_check/protocol.h"
#include "programs/torus_check/verdict.h"

namespace torusmp::torus_check {

class Speeds {
  public:
    // A cable in one direction; its two directions are 2 * cable and 2 * cable + 1.
    using Way = std::size_t;

    // `megabits` contains for each cable the nominal speed of its slower end in Mbit/s, or nothing
    // if the driver reports none.
    explicit Speeds(std::vector<std::optional<int>> megabits);

    void add(Way way, const Pushed& pushed);
    // Adds another measurement of a suspect, and one of `reference(way)` directly after it.
    void compare(Way way, const Pushed& pushed, const Pushed& reference);

    // Whether its measured rate is about its nominal speed.
    bool is_nominal(Way way) const;
    // Measured ways that are far slower than similar cables, or did not connect.
    std::vector<Way> suspects() const;
    // A reference link, which is not a suspect and has the same nominal speed if possible; nothing
    // if all are suspects.
    std::optional<Way> reference(Way way) const;
    // Whether another comparison may change the verdict on a suspect: because there were few, or
    // because the good cables beside it were often as slow.
    bool is_open(Way way) const;
    // Whether it was slower in every comparison.
    bool remains_slow(Way way) const;
    // Whether similar cables complete a short transfer within a time slice of a busy host.
    bool are_fast(Way way) const;

    // Why no connection could be made, if all were tried in vain; otherwise empty.
    std::string refusal(Way way) const;

    Rate rate(Way way) const;
    // The finding for a way that remains slow, whose ends are `from` and `to`.
    Finding finding(Way way, const std::string& from, const std::string& to) const;
    // Why no way could be measured; empty if some were.
    std::string why_nothing() const;

  private:
    // Whether it was as fast as similar cables in a comparison.
    bool catches_up(Way way) const;
    // Whether it is too slow to be explained by a busy host.
    bool far_behind(Way way) const;

    struct Measured {
        std::optional<int> megabits;
        Rate best;  // the fastest transfer, the shortest round trip
        int segments = 0, again = 0;
        bool asked = false;
        std::string trouble;           // of the last transfer, unless one worked
        Rate compared;                 // the best of comparisons
        std::vector<Rate> references;  // beside it
    };

    static Rate rate_of(const Pushed& pushed);
    static void improve(Rate& best, const Rate& found);
    // The median rate of cables with the same nominal speed, at most the nominal speed.
    Rate similar_cables(Way way) const;
    Rate expected(Way way) const;
    static bool behind(const Rate& found, const Rate& expected, double limit);

    std::vector<Measured> ways_;
};

}  // namespace torusmp::torus_check

// SPDX-License-Identifier: BSD-3-Clause
// Which cables are slow, judged by transfers that were sent over them.
//
// A busy host makes a good cable look slow, but nothing makes a slow one look fast. So a cable
// counts as it did in its best transfer, is compared with what its fellows carried, and is named
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

namespace torusmp::check {

class Speeds {
  public:
    // A cable in one direction: its two are 2 * cable and 2 * cable + 1.
    using Way = std::size_t;

    // By cable: what the driver says of its slower end, in Mbit/s; nothing: it does not say.
    explicit Speeds(std::vector<std::optional<int>> megabits);

    void add(Way way, const Pushed& pushed);
    // Another look at a suspect, and at `reference(way)` right after.
    void compare(Way way, const Pushed& pushed, const Pushed& reference);

    // Whether it was measured, and was as fast as the driver says, about.
    bool keeps_promise(Way way) const;
    // Ways that are far behind their fellows, or did not connect, among those that were measured.
    std::vector<Way> suspects() const;
    // A way that is no suspect, whose driver says the same if any is left; nothing: all are
    // suspects.
    std::optional<Way> reference(Way way) const;
    // Whether another comparison may change what is known of a suspect: there were few, or the good
    // ones beside it were as slow too often to tell.
    bool is_open(Way way) const;
    // Whether it was behind in every comparison.
    bool stays_behind(Way way) const;
    // Whether its fellows send a short transfer within a time slice of a busy host.
    bool are_fast(Way way) const;

    Rate rate(Way way) const;
    // What is wrong with a way that stays behind. `from`, `to`: its ends.
    Finding finding(Way way, const std::string& from, const std::string& to) const;
    // Why not a single way could be measured; empty: some were.
    std::string why_nothing() const;

  private:
    // Whether it has been as fast as its fellows in a comparison.
    bool catches_up(Way way) const;
    // Whether it is so slow that a busy host hardly explains it.
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
    // What fellows carry, but not more than the driver says: the median of those whose driver says
    // the same.
    Rate fellows(Way way) const;
    Rate expected(Way way) const;
    static bool behind(const Rate& found, const Rate& expected, double limit);

    std::vector<Measured> ways_;
};

}  // namespace torusmp::check

// SPDX-License-Identifier: BSD-3-Clause
// Divides a range of a file into shares, one for each aggregator, and each share into windows, one
// for each round. Pure: all members compute the same division.
#pragma once

#include <algorithm>
#include <cstddef>

#include "io/store.h"

namespace torusmp::io {

class Domains {
  public:
    struct Window {
        Offset begin = 0, end = 0;
        bool empty() const { return begin >= end; }
        Offset bytes() const { return end - begin; }
    };

    Domains() = default;
    // Divides the bytes [begin, end) of the file. Shares begin at multiples of `unit` bytes. Each
    // round handles at most `window` bytes of a share.
    Domains(Offset begin, Offset end, int aggregators, std::size_t unit, std::size_t window)
        : begin_(begin), end_(end) {
        if (begin >= end) return;
        const auto step = Offset(unit);
        base_ = begin / step * step;
        const Offset units = (end - base_ + step - 1) / step;
        share_ = (units + aggregators - 1) / aggregators * step;
        window_ = std::min(share_, Offset(window));
        rounds_ = int((share_ + window_ - 1) / window_);
        // Makes the rounds equally long: otherwise the last one could be much shorter.
        const Offset even = (share_ + rounds_ - 1) / rounds_;
        window_ = std::min(window_, (even + step - 1) / step * step);
    }

    int rounds() const { return rounds_; }
    // The most bytes of any window.
    std::size_t longest() const { return std::size_t(window_); }
    Window window(int aggregator, int round) const {
        const Offset share = base_ + aggregator * share_;
        const Offset from = share + round * window_;
        return {std::max(from, begin_), std::min({from + window_, share + share_, end_})};
    }

  private:
    Offset begin_ = 0, end_ = 0, base_ = 0, share_ = 0, window_ = 0;
    int rounds_ = 0;
};

}  // namespace torusmp::io

// SPDX-License-Identifier: BSD-3-Clause
// Axes of drawings: where a value stands, and which values are labelled. Plain values.
#pragma once

#include <string>
#include <vector>

namespace torusmp::bench {

struct SvgTick {
    double value;
    std::string label;   // empty: a line alone
    bool strong = true;  // a whole decade, or any tick of a linear axis
};

// The least and the greatest of some values.
struct SvgRange {
    double low = 0, high = 0;
    bool any = false;
    void include(double value);
};

class SvgAxis {
  public:
    enum class Scale {
        sizes,         // logarithmic, in powers of two
        logarithmic,   // in decades
        linear,        // from 0
        whole_numbers  // linear, each with a tick where there is room
    };

    SvgAxis() = default;
    // Ends at the values: there is nothing beyond.
    static SvgAxis across(const SvgRange& range, Scale scale, double begin, double end);
    // Ends at labelled values around them.
    static SvgAxis up(const SvgRange& range, Scale scale, double begin, double end);

    double place(double value) const;
    double begin() const { return begin_; }
    double end() const { return end_; }
    std::vector<SvgTick> ticks() const;

  private:
    std::vector<SvgTick> logarithmic_ticks() const;
    bool is_linear() const { return scale_ == Scale::linear || scale_ == Scale::whole_numbers; }

    Scale scale_ = Scale::linear;
    double low_ = 0, high_ = 1;
    double begin_ = 0, end_ = 1;
};

}  // namespace torusmp::bench

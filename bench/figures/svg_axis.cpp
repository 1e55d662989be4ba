// SPDX-License-Identifier: BSD-3-Clause
#include "bench/figures/svg_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace torusmp::bench {
namespace {

constexpr double most_ticks_across = 12;
constexpr double most_ticks_up = 8;

// The largest of 1, 2, 5 times a power of ten that is not above `value`.
double round_down(double value) {
    const double decade = std::pow(10.0, std::floor(std::log10(value) + 1e-9));
    for (const double step : {5.0, 2.0})
        if (step * decade <= value * (1 + 1e-9)) return step * decade;
    return decade;
}

double round_up(double value) {
    double edge = round_down(value);
    if (edge >= value * (1 - 1e-9)) return edge;
    const double decade = std::pow(10.0, std::floor(std::log10(edge) + 1e-9));
    const double step = edge / decade;
    return decade * (step < 1.5 ? 2 : step < 3 ? 5 : 10);
}

std::string bytes_label(double bytes) {
    static constexpr std::array<std::string_view, 4> units = {"", "Ki", "Mi", "Gi"};
    std::size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < units.size()) bytes /= 1024, ++unit;
    return fmt::format("{:g}{}", bytes, units[unit]);
}

// The powers of two, the last of them and, if there is room, the first.
std::vector<SvgTick> size_ticks(double low, double high) {
    const double first = std::exp2(std::ceil(std::log2(low) - 1e-9));
    const double last = std::exp2(std::floor(std::log2(high) + 1e-9));
    const double octaves = std::log2(last / first);
    const int step = octaves > 24 ? 4 : octaves > 11 ? 2 : 1;
    std::vector<SvgTick> ticks;
    for (double value = last; value >= first * (1 - 1e-9); value /= std::exp2(step))
        ticks.push_back({value, bytes_label(value)});
    const bool room = ticks.back().value >= first * 1.9 && step < 4;
    if (room) ticks.push_back({first, bytes_label(first)});
    std::reverse(ticks.begin(), ticks.end());
    return ticks;
}

// No power of ten where a letter says it: "200M".
std::string plain_number(double value) {
    for (const auto& [from, letter] : {std::pair{1e9, 'G'}, {1e6, 'M'}})
        if (value >= from * (1 - 1e-9)) return fmt::format("{:g}{}", value / from, letter);
    return fmt::format("{:g}", value);
}

// Labels at 1, 2 and 5 of each decade, or where they would crowd at the decades and, if there is
// room, at the ends.
std::vector<SvgTick> decade_ticks(double low, double high, double length) {
    constexpr double room = 14;  // for a label above the next
    std::vector<SvgTick> ticks;
    const double span = std::log10(high / low);
    const bool crowded = span > 4.5;
    for (double value = round_up(low); value <= high * (1 + 1e-9);
         value = round_up(value * (1 + 1e-6))) {
        const double decades = std::log10(value);
        const bool whole = std::abs(decades - std::round(decades)) < 1e-6;
        ticks.push_back({value, whole || !crowded ? plain_number(value) : "", whole});
    }
    // The nearest decade is a factor of two away at least.
    if (crowded && !ticks.empty() && length * std::log10(2) / span >= room)
        for (SvgTick* const end : {&ticks.front(), &ticks.back()})
            end->label = plain_number(end->value);
    return ticks;
}

// Of values that are counted, the last one too.
void add_last_count(std::vector<SvgTick>& ticks, double low, double high, double length) {
    constexpr double room = 40;  // for a label beside the next
    constexpr double most = 1e6;
    if (high != std::round(high) || high >= most) return;
    const auto too_near = [&](const SvgTick& tick) {
        return length * std::log(high / tick.value) / std::log(high / low) < room;
    };
    for (SvgTick& tick : ticks)
        if (too_near(tick)) tick.label.clear();
    ticks.push_back({high, fmt::format("{:.0f}", high), false});
}

double linear_step(double span, double most, bool whole) {
    const double step = round_up(span / most);
    return whole ? std::max(1.0, step) : step;
}

std::vector<SvgTick> linear_ticks(double low, double high, double step) {
    std::vector<SvgTick> ticks;
    for (double n = std::ceil(low / step - 1e-9) + 0.0; n * step <= high + step * 1e-9; ++n)
        ticks.push_back({n * step, fmt::format("{:g}", n * step)});
    return ticks;
}

}  // namespace

void SvgRange::include(double value) {
    low = any ? std::min(low, value) : value;
    high = any ? std::max(high, value) : value;
    any = true;
}

SvgAxis SvgAxis::across(const SvgRange& range, Scale scale, double begin, double end) {
    SvgAxis axis;
    axis.scale_ = scale;
    axis.begin_ = begin, axis.end_ = end;
    axis.low_ = range.low, axis.high_ = range.high;
    if (range.low < range.high) return axis;
    // A single value stands in the middle.
    if (axis.is_linear())
        axis.low_ -= 1, axis.high_ += 1;
    else
        axis.low_ /= 2, axis.high_ *= 2;
    return axis;
}

SvgAxis SvgAxis::up(const SvgRange& range, Scale scale, double begin, double end) {
    SvgAxis axis;
    axis.scale_ = scale;
    axis.begin_ = begin, axis.end_ = end;
    if (axis.is_linear()) {
        const double high = range.high > 0 ? range.high : 1;
        const double step = linear_step(high, most_ticks_up, false);
        axis.low_ = 0, axis.high_ = std::ceil(high / step - 1e-9) * step;
        return axis;
    }
    axis.low_ = round_down(range.low), axis.high_ = round_up(range.high);
    if (axis.high_ < 2 * axis.low_)
        axis.low_ = round_down(axis.low_ / 2), axis.high_ = round_up(axis.high_ * 1.5);
    return axis;
}

double SvgAxis::place(double value) const {
    const double part = is_linear() ? (value - low_) / (high_ - low_)
                                    : std::log(value / low_) / std::log(high_ / low_);
    return begin_ + (end_ - begin_) * part;
}

std::vector<SvgTick> SvgAxis::logarithmic_ticks() const {
    const bool rises = begin_ > end_;  // y counts from the top
    std::vector<SvgTick> ticks = decade_ticks(low_, high_, rises ? begin_ - end_ : 0);
    const bool ends_there = !ticks.empty() && ticks.back().value >= high_ * (1 - 1e-9);
    if (!rises && !ends_there) add_last_count(ticks, low_, high_, end_ - begin_);
    return ticks;
}

std::vector<SvgTick> SvgAxis::ticks() const {
    switch (scale_) {
        case Scale::sizes:
            return size_ticks(low_, high_);
        case Scale::logarithmic:
            return logarithmic_ticks();
        case Scale::whole_numbers:
            return linear_ticks(low_, high_, linear_step(high_ - low_, most_ticks_across, true));
        case Scale::linear:
            break;
    }
    return linear_ticks(low_, high_, linear_step(high_, most_ticks_up, false));
}

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace torusmp::base {

namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

constexpr std::array<Unit, 6> size_units{{{"", 1},
                                          {"b", 1},
                                          {"kib", std::uint64_t(1) << 10},
                                          {"mib", std::uint64_t(1) << 20},
                                          {"gib", std::uint64_t(1) << 30},
                                          {"tib", std::uint64_t(1) << 40}}};
constexpr std::array<Unit, 7> time_units{{{"ns", 1},
                                          {"us", 1'000},
                                          {"µs", 1'000},
                                          {"ms", 1'000'000},
                                          {"s", 1'000'000'000},
                                          {"min", 60'000'000'000},
                                          {"h", 3'600'000'000'000}}};

__extension__ using Wide = unsigned __int128;  // 63 bits times the largest unit

constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
    return out;
}

// Splits "1.5 MiB" into "1", "5" and "MiB". False: it does not begin with a number.
bool split_quantity(std::string_view text, std::string_view& whole, std::string_view& fraction,
                    std::string_view& unit) {
    std::size_t end = 0;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end == 0) return false;
    whole = text.substr(0, end);
    text.remove_prefix(end);
    fraction = {};
    if (!text.empty() && text[0] == '.') {
        end = 1;
        while (end < text.size() && is_digit(text[end])) ++end;
        if (end == 1) return false;
        fraction = text.substr(1, end - 1);
        text.remove_prefix(end);
    }
    while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
    unit = text;
    return true;
}

// whole.fraction x factor, exactly: in integers, so that "0.1s" is 100 ms and not slightly less.
std::optional<std::uint64_t> scale(std::string_view whole, std::string_view fraction,
                                   std::uint64_t factor) {
    Wide total = 0;
    for (char c : whole) {
        total = total * 10 + unsigned(c - '0');
        if (total > largest) return std::nullopt;
    }
    total *= factor;
    Wide part = factor;  // the value of one unit of the previous digit
    Wide divisor = 1;
    Wide numerator = 0;
    while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
    if (fraction.size() > 18) return std::nullopt;  // 18 digits: the products below fit 128 bits
    for (char c : fraction) {
        numerator = numerator * 10 + unsigned(c - '0');
        divisor *= 10;
    }
    if (numerator * part % divisor != 0) return std::nullopt;
    total += numerator * part / divisor;
    if (total > largest) return std::nullopt;
    return std::uint64_t(total);
}

template <class Units>
std::optional<std::uint64_t> parse_quantity(std::string_view text, const Units& units) {
    std::string_view whole, fraction, unit;
    if (!split_quantity(text, whole, fraction, unit)) return std::nullopt;
    const std::string name = lower(unit);
    for (const Unit& known : units)
        if (known.name == name) return scale(whole, fraction, known.factor);
    return std::nullopt;
}

// In the largest unit of which they are a multiple.
std::pair<std::uint64_t, std::string_view> whole_units(std::uint64_t bytes) {
    static constexpr std::array<std::pair<std::uint64_t, std::string_view>, 4> units{
        {{std::uint64_t(1) << 40, "TiB"},
         {std::uint64_t(1) << 30, "GiB"},
         {std::uint64_t(1) << 20, "MiB"},
         {std::uint64_t(1) << 10, "KiB"}}};
    for (const auto& [factor, name] : units)
        if (bytes != 0 && bytes % factor == 0) return {bytes / factor, name};
    return {bytes, "B"};
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
    if (text.size() > 1 && text[0] == '+' && is_digit(text[1])) text.remove_prefix(1);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
    return parse_quantity(text, size_units);
}

std::string format_size(std::uint64_t bytes) {
    const auto [count, unit] = whole_units(bytes);
    return std::to_string(count).append(unit);
}

std::string describe_size(std::uint64_t bytes) {
    const auto [count, unit] = whole_units(bytes);
    return fmt::format("{} {}", count, unit);
}

std::optional<std::chrono::nanoseconds> parse_time(std::string_view text) {
    if (text == "0") return std::chrono::nanoseconds(0);
    const auto count = parse_quantity(text, time_units);
    if (!count) return std::nullopt;
    return std::chrono::nanoseconds(std::int64_t(*count));
}

std::string format_time(std::chrono::nanoseconds time) {
    static constexpr std::array<std::pair<std::int64_t, std::string_view>, 3> units{
        {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}}};
    const std::int64_t count = time.count();
    if (count == 0) return "0";
    for (const auto& [factor, name] : units)
        if (count % factor == 0) return std::to_string(count / factor).append(name);
    return std::to_string(count) + "ns";
}

std::string describe_duration(double seconds) {
    if (seconds < 0.9995) return fmt::format("{:.0f} ms", std::max(seconds, 0.0) * 1000);
    if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
    const auto whole = std::int64_t(std::llround(seconds));
    if (whole < 60) return fmt::format("{} s", whole);
    if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
    return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace torusmp::base

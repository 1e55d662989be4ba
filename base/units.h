// SPDX-License-Identifier: BSD-3-Clause
// Sizes and times as people write them: "16KiB", "4096", "20us", "1.5s", "0".
//
// Pure functions; any thread may call. A parser returns an empty result for text that is not a size
// or a time, has an unknown unit, has a fraction of a byte or nanosecond, or does not fit 63 bits.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace torusmp::base {

// A whole decimal number with an optional sign, and nothing else.
std::optional<std::int64_t> parse_integer(std::string_view text);

// Bytes. Units: none or B, KiB, MiB, GiB, TiB (powers of 1024; case does not matter). "MB" is
// refused, since many readers take it for a power of 1000.
std::optional<std::uint64_t> parse_size(std::string_view text);
// A size in the largest unit that gives a whole number: 16384 is "16KiB", 1000 is "1000B".
std::string format_size(std::uint64_t bytes);
// A size for a sentence: "16 KiB", "1000 B".
std::string describe_size(std::uint64_t bytes);

// Units: ns, us (or µs), ms, s, min, h; required, except for "0".
std::optional<std::chrono::nanoseconds> parse_time(std::string_view text);
// A time in the largest unit up to seconds that gives a whole number: 1.5 s is "1500ms".
std::string format_time(std::chrono::nanoseconds time);
// A duration for people: "350 ms", "5.2 s", "14 s", "2 min 5 s", "3 h 20 min".
std::string describe_duration(double seconds);

}  // namespace torusmp::base

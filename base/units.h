// Sizes and times as people write them: "16KiB", "4096", "20us", "1.5s", "0".
//
// Pure functions; any thread may call. A reader returns nothing for text that is not a size or a
// time, has an unknown unit, a fraction of a byte or nanosecond, or does not fit 63 bits.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace torusmp::base {

// A whole decimal number, an optional sign, nothing else.
std::optional<std::int64_t> parse_integer(std::string_view text);

// Bytes. Units: none or B, KiB, MiB, GiB, TiB (1024-fold; case does not matter). "MB" is refused:
// half of its readers take it for 1000-fold.
std::optional<std::uint64_t> parse_size(std::string_view text);
// The same in the largest unit that leaves a whole number: 16384 is "16KiB", 1000 is "1000B".
std::string format_size(std::uint64_t bytes);

// Units: ns, us (or µs), ms, s, min, h; needed, except for "0".
std::optional<std::chrono::nanoseconds> parse_time(std::string_view text);
// In the largest unit up to seconds that leaves a whole number: 1.5 s is "1500ms".
std::string format_time(std::chrono::nanoseconds time);

}  // namespace torusmp::base

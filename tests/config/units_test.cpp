// SPDX-License-Identifier: BSD-3-Clause
#include "base/units.h"

#include <catch2/catch.hpp>
#include <limits>
#include <random>

namespace base = torusmp::base;
using namespace std::chrono_literals;

TEST_CASE("A size is read in each of its units") {
    CHECK(base::parse_size("0") == 0u);
    CHECK(base::parse_size("4096") == 4096u);
    CHECK(base::parse_size("7B") == 7u);
    CHECK(base::parse_size("16KiB") == 16384u);
    CHECK(base::parse_size("16 kib") == 16384u);
    CHECK(base::parse_size("4MiB") == 4194304u);
    CHECK(base::parse_size("1GiB") == 1073741824u);
    CHECK(base::parse_size("2TiB") == 2199023255552u);
    CHECK(base::parse_size("1.5MiB") == 1572864u);
    CHECK(base::parse_size("0.25KiB") == 256u);
    CHECK(base::parse_size("1.000B") == 1u);
}

TEST_CASE("A text that is not a size is refused") {
    for (const char* text :
         {"",       " ",       "KiB",    "-1",     "+1",     "1.5",    "1.5B",
          "0.3KiB", "16KB",    "16MB",   "16K",    "1e3",    "0x10",   "1.",
          ".5KiB",  "1..5KiB", "16KiB ", " 16KiB", "16KiBx", "1,5MiB", "16\nKiB"}) {
        CAPTURE(text);
        CHECK_FALSE(base::parse_size(text));
    }
}

TEST_CASE("A size beyond 63 bits is refused, whatever its digits and unit") {
    CHECK(base::parse_size("9223372036854775807") ==
          std::uint64_t(std::numeric_limits<std::int64_t>::max()));
    CHECK(base::parse_size("8388607TiB") == 8388607ull << 40);
    for (const char* text :
         {"9223372036854775808", "18446744073709551616", "8388608TiB", "9007199254740992KiB",
          "99999999999999999999999999999999999999999B", "340282366920938463463374607431768211456",
          "0.0000000000000000001TiB"}) {
        CAPTURE(text);
        CHECK_FALSE(base::parse_size(text));
    }
}

TEST_CASE("A time is read in each of its units") {
    CHECK(base::parse_time("0") == 0ns);
    CHECK(base::parse_time("0s") == 0ns);
    CHECK(base::parse_time("5ns") == 5ns);
    CHECK(base::parse_time("20us") == 20us);
    CHECK(base::parse_time("20µs") == 20us);
    CHECK(base::parse_time("3ms") == 3ms);
    CHECK(base::parse_time("1.5s") == 1500ms);
    CHECK(base::parse_time("0.1s") == 100ms);
    CHECK(base::parse_time("2min") == 120s);
    CHECK(base::parse_time("1h") == 3600s);
    CHECK(base::parse_time("2562047h"));
}

TEST_CASE("A text that is not a time, or has no unit, is refused") {
    for (const char* text : {"", "20", "-1s", "s", "1.5ns", "0.0000001us", "1sec", "1d", "inf",
                             "nan", "2562048h", "9223372037s", "1s2", "00"}) {
        CAPTURE(text);
        CHECK_FALSE(base::parse_time(text));
    }
}

TEST_CASE("A printed size or time is read back as the same value") {
    std::mt19937_64 random(20040924);
    for (int i = 0; i < 20000; ++i) {
        // All magnitudes alike, and round numbers among them.
        const std::uint64_t value = random() >> (1 + random() % 63) << (random() % 41) >> 1;
        CAPTURE(value);
        REQUIRE(base::parse_size(base::format_size(value)) == value);
        REQUIRE(base::parse_time(base::format_time(std::chrono::nanoseconds(
                    std::int64_t(value)))) == std::chrono::nanoseconds(std::int64_t(value)));
    }
}

TEST_CASE("A value is printed in the largest unit that leaves a whole number") {
    CHECK(base::format_size(0) == "0B");
    CHECK(base::format_size(1000) == "1000B");
    CHECK(base::format_size(16384) == "16KiB");
    CHECK(base::format_size(1536) == "1536B");
    CHECK(base::describe_size(16384) == "16 KiB");
    CHECK(base::describe_size(1000) == "1000 B");
    CHECK(base::describe_size(0) == "0 B");
    CHECK(base::format_size(4u << 20) == "4MiB");
    CHECK(base::format_time(0ns) == "0");
    CHECK(base::format_time(1500ms) == "1500ms");
    CHECK(base::describe_duration(-1) == "0 ms");
    CHECK(base::describe_duration(0.3504) == "350 ms");
    CHECK(base::describe_duration(0.9999) == "1.0 s");
    CHECK(base::describe_duration(9.96) == "10 s");
    CHECK(base::describe_duration(59.9) == "1 min 0 s");
    CHECK(base::describe_duration(125) == "2 min 5 s");
    CHECK(base::describe_duration(12000) == "3 h 20 min");
    CHECK(base::format_time(20us) == "20us");
    CHECK(base::format_time(60s) == "60s");
    CHECK(base::format_time(7ns) == "7ns");
}

TEST_CASE("An integer is the whole text, or the text is refused") {
    CHECK(base::parse_integer("-12") == -12);
    CHECK(base::parse_integer("+12") == 12);
    for (const char* text :
         {"", "+", "-", "+-1", "1 ", " 1", "1.0", "0x1", "9223372036854775808"}) {
        CAPTURE(text);
        CHECK_FALSE(base::parse_integer(text));
    }
}

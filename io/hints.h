// SPDX-License-Identifier: BSD-3-Clause
// The hints of a program for a file: the info keys that have an effect here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torusmp::io {

enum class Choice { automatic, yes, no };

struct Hints {
    // The number of ranks through which collective calls go; 0: one for each host that has the
    // file.
    int aggregators = 0;
    // Bytes of buffer that all aggregators of a host together use in a collective call.
    std::size_t collective_buffer = std::size_t(16) << 20;
    // Whether collective calls go through aggregators; by default (automatic) if the ranks' data
    // interleave.
    Choice collective_read = Choice::automatic, collective_write = Choice::automatic;
    // Whether independent reads also read the gaps in the view; by default (automatic) only short
    // gaps.
    Choice sieve_read = Choice::automatic;
    std::size_t sieve_buffer = std::size_t(4) << 20;
    // The shares of aggregators begin at multiples of this number of bytes.
    std::size_t striping_unit = 4096;

    // Applies an entry of an info. Returns false if the key has no effect here or the value is
    // invalid.
    bool take(std::string_view key, std::string_view value);
    // All keys with their values.
    std::vector<std::pair<std::string, std::string>> entries() const;
};

}  // namespace torusmp::io

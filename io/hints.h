// SPDX-License-Identifier: BSD-3-Clause
// What a program advises about a file: the keys of an info that have an effect here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torusmp::io {

enum class Choice { automatic, yes, no };

struct Hints {
    // Ranks through which collective calls go; 0 for as many as there are hosts with the file.
    int aggregators = 0;
    // Bytes that the aggregators of a host hold together in a collective call.
    std::size_t collective_buffer = std::size_t(16) << 20;
    // Whether collective calls go through aggregators; automatic: where ranks interleave.
    Choice collective_read = Choice::automatic, collective_write = Choice::automatic;
    // Whether independent reads also read the gaps between what is wanted; automatic: short gaps.
    Choice sieve_read = Choice::automatic;
    std::size_t sieve_buffer = std::size_t(4) << 20;
    // Bytes at whose multiples the file is divided among aggregators.
    std::size_t striping_unit = 4096;

    // Applies the entry. Returns false if the key has no effect here or the value is invalid.
    bool take(std::string_view key, std::string_view value);
    // All keys with their values.
    std::vector<std::pair<std::string, std::string>> entries() const;
};

}  // namespace torusmp::io

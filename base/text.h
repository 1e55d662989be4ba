// SPDX-License-Identifier: BSD-3-Clause
// External text: made safe to print, and matched with known words.
//
// Pure functions; any thread may call.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace torusmp::base {

// Text made safe for a terminal: control characters and broken UTF-8 escaped, long text shortened.
std::string printable(std::string_view text, std::size_t limit = 60);

// Length of the well-formed UTF-8 character at the front of a non-empty text; 0 if there is none.
std::size_t utf8_length(std::string_view text);

// The candidate that a mistyped word most likely meant; empty if none is similar.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);

// The number of single edits (insert, delete, change, swap of two neighbours) between two words.
std::size_t edit_distance(std::string_view a, std::string_view b);

// "a", "a and b", "a, b and c"; with more than `most` words the rest is only counted: "a, b and 7
// more".
std::string listed(std::vector<std::string> words, std::size_t most = 8);

}  // namespace torusmp::base

// SPDX-License-Identifier: BSD-3-Clause
// CHARACTER arguments: gfortran passes the length of each behind all other arguments; a text has no
// null at its end and is padded with blanks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace torusmp::mpi {

using Length = std::size_t;  // of a CHARACTER, since gfortran 8

// Blanks at the end are not part of the text.
inline std::string c_string(const char* text, Length length) {
    const std::string_view whole(text, length);
    const std::size_t last = whole.find_last_not_of(' ');
    return std::string(whole.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

// Keys and values of an info, and arguments of spawned programs, also lose their leading blanks
// (MPI 4.1, sections 10 and 11.8.2).
inline std::string trimmed(const char* text, Length length) {
    std::string string = c_string(text, length);
    return string.erase(0, std::min(string.find_first_not_of(' '), string.size()));
}

// A longer value is truncated.
inline void fill(char* text, Length length, std::string_view value) {
    const std::size_t used = std::min(length, value.size());
    std::copy_n(value.data(), used, text);
    std::fill_n(text + used, length - used, ' ');
}

}  // namespace torusmp::mpi

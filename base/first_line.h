// SPDX-License-Identifier: BSD-3-Clause
// Values that the kernel shows as the first line of a file.
//
// Any thread may call.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace torusmp::base {

// The line without its end; empty if the file cannot be read.
inline std::string first_line(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

}  // namespace torusmp::base

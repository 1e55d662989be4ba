// SPDX-License-Identifier: BSD-3-Clause
// Output of programs: tables for people, JSON for scripts, and whole files.
//
// Pure functions except write_text_file(); any thread may call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torusmp::base {

using Row = std::vector<std::string>;

// Lines indented by two blanks, with two between columns, each as wide as its widest cell.
std::string format_table(const std::vector<Row>& rows);

// A JSON string. Names and paths may contain bytes that are not UTF-8, which JSON does not allow:
// these are escaped.
std::string json_quote(std::string_view text);

// JSON members or items between brackets, one per line, indented by `depth` levels.
std::string json_enclose(const std::vector<std::string>& parts, char open, char close, int depth);

// Throws std::runtime_error that names the file.
void write_text_file(const std::string& path, const std::string& text);

}  // namespace torusmp::base

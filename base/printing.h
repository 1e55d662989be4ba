// How programs print: tables for people, JSON for scripts, and files written whole.
//
// Pure functions but for write_text_file(); any thread may call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torusmp::base {

using Row = std::vector<std::string>;

// Lines with two blanks in front and between columns, each as wide as its widest cell.
std::string format_table(const std::vector<Row>& rows);

// A JSON string. Names and paths may hold bytes that are no UTF-8, JSON may not: those are escaped.
std::string json_quote(std::string_view text);

// JSON members or items between brackets, one a line, indented by `depth` steps.
std::string json_enclose(const std::vector<std::string>& parts, char open, char close, int depth);

// Throws std::runtime_error that names the file.
void write_text_file(const std::string& path, const std::string& text);

}  // namespace torusmp::base

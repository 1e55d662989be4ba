// SPDX-License-Identifier: BSD-3-Clause
#include "base/assert.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>

#include "base/trace.h"

namespace torusmp::base {
namespace {

// Removes the first expression, up to a comma outside parentheses, from the names.
std::string_view next_name(std::string_view& names) {
    int depth = 0;
    std::size_t end = 0;
    for (; end < names.size(); ++end) {
        const char c = names[end];
        if (c == '(' || c == '[' || c == '{') ++depth;
        if (c == ')' || c == ']' || c == '}') --depth;
        if (c == ',' && depth == 0) break;
    }
    const std::string_view name = names.substr(0, end);
    names.remove_prefix(std::min(names.size(), end + 1));
    while (!names.empty() && names.front() == ' ') names.remove_prefix(1);
    return name;
}

}  // namespace

void assertion_failed(const char* condition, const char* names,
                      std::initializer_list<AssertedValue> values, std::source_location place) {
    std::string text =
        fmt::format("torusmp: assertion failed: {}\n  in {}\n  at {}:{}\n", condition,
                    place.function_name(), place.file_name(), place.line());
    std::string_view left = names;
    for (const AssertedValue& value : values)
        std::visit(
            [&](auto it) {
                fmt::format_to(std::back_inserter(text), "  {} = {}\n", next_name(left), it);
            },
            value.value());
    const auto lines = trace_lines(-1);
    if (!lines.empty()) text += "  the last lines of the trace:\n";
    for (const std::string& line : lines) text += "    " + line + "\n";
    text += "  This is a defect of torusmp: please report it with these lines.\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    std::abort();
}

}  // namespace torusmp::base

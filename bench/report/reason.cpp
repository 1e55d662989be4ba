// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/reason.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>

namespace torusmp::bench {
namespace {

bool in_own_name(std::string_view line) {
    for (const std::string_view name : {"torus-", "QMP_", "MPI_"})
        if (line.starts_with(name)) return line.find(": ") != line.npos;
    return false;
}

// A message that a rank has died: a consequence of the cause, and the cause itself only if there is
// no other.
bool is_echo(std::string_view line) {
    return line.starts_with("torus-run: rank ") && line.ends_with("; the job is ended");
}

}  // namespace

std::string reason_of(const std::string& printed, int exit_code) {
    std::string cause, echo, last, line;
    bool goes_on = false;  // the cause is a list; its first entry is reported
    std::istringstream text(printed);
    while (std::getline(text, line)) {
        if (goes_on) {
            cause += " " + line.substr(std::min(line.find_first_not_of(' '), line.size()));
            goes_on = false;
        } else if (is_echo(line)) {
            if (echo.empty()) echo = line;
        } else if (in_own_name(line)) {
            if (!cause.empty()) continue;
            cause = line;
            goes_on = line.ends_with(':');
        }
        if (line.find_first_not_of(' ') != std::string::npos) last = line;
    }
    for (const std::string* const said : {&cause, &echo, &last})
        if (!said->empty()) return *said;
    return fmt::format("exit code {} without an error message", exit_code);
}

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
// Compiled separately, so that a new commit recompiles only one small file.
#include <fmt/format.h>

#include "config/options.h"

namespace torusmp::config {

std::string version_text() {
    return TORUSMP_VERSION_TEXT;
}

void print_version(std::string_view name) {
    fmt::print("{} (torusmp) {}\n", name, version_text());
}

}  // namespace torusmp::config

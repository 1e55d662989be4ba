// SPDX-License-Identifier: BSD-3-Clause
// Compiled by itself, so that a new commit costs one small file.
#include <fmt/format.h>

#include "config/options.h"

namespace torusmp::config {

void print_version(std::string_view name) {
    fmt::print("{} (torusmp) {}\n", name, TORUSMP_VERSION_TEXT);
}

}  // namespace torusmp::config

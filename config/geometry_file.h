// SPDX-License-Identifier: BSD-3-Clause
// Reads the TOML geometry file into the settings. The only part that uses TOML.
#pragma once

#include <string>
#include <string_view>

#include "config/check.h"
#include "config/settings.h"

namespace torusmp::config {

// The largest geometry file: 16 MiB can list more hosts than the largest torus has ranks.
inline constexpr std::size_t max_file_size = std::size_t(16) << 20;

// The whole text of a regular file. Throws ConfigError for a path that is missing, unreadable, a
// directory or a device, and for a file that is empty, too large, or binary.
std::string read_text_file(const std::string& path);

// Puts the values of the text into `settings`, with the origin "path:line". Throws ConfigError for
// the first error. Checks between keys are made by complete(), which finds the locations of the
// parts of long values in `locations`.
void apply_geometry(std::string_view text, const std::string& path, Settings& settings,
                    Locations& locations);

}  // namespace torusmp::config

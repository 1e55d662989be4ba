// SPDX-License-Identifier: BSD-3-Clause
// Text of the geometry for messages. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "routing/direction.h"

namespace torusmp::config {

inline constexpr int balanced_dimensions = 3;

std::int64_t product(const std::vector<int>& extents);
// "2x2x2"
std::string joined(const std::vector<int>& extents);
// "1 rank", "2 ranks"
std::string plural(std::int64_t count, std::string_view word);
// "torus.dims = 2x2x2 (--torus)"
std::string cite_dims(const Settings& settings);
// "0+"; empty for the cables of a graph, whose directions are not in the file.
std::string link_name(const Settings& settings, routing::Direction direction);
// " (0+)"; empty if the cables do not form a torus, since the directions are then not in the file.
std::string direction_note(const Settings& settings, routing::Direction direction);

}  // namespace torusmp::config

// Checks between settings, and what follows from them: lengths against dimensions, the pattern of
// hosts spelled out, links against the directions that the torus has.
#pragma once

#include "config/settings.h"

namespace torusmp::config {

// Throws ConfigError for the first thing that does not fit together. Fills `hosts` from the
// pattern.
void complete(Settings& settings);

}  // namespace torusmp::config

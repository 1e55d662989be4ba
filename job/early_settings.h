// SPDX-License-Identifier: BSD-3-Clause
// The settings with which a rank joins its job: those of the launcher, the environment and the file,
// and above them what the program itself has set before it joined (MPI_T_cvar_write). One thread at
// a time may call.
#pragma once

#include <string_view>

#include "config/settings.h"

namespace torusmp::job {

// Throws ConfigError if the setting does not accept the value.
void set_early(const config::AnySetting& setting, std::string_view text);
// Throws ConfigError.
config::Settings settings_for_rank();

}  // namespace torusmp::job

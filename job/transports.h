// SPDX-License-Identifier: BSD-3-Clause
// Chooses the transports, by the settings and this rank's place: one between the ranks of a host,
// and for each link to another host the best that both ends have (job/wiring.h).
//
// Called once while a Process comes up, by its thread, on every rank of the job.
#pragma once

#include <memory>

#include "config/settings.h"
#include "core/api.h"
#include "launch/bootstrap.h"

namespace torusmp::job {

// Opens the Runtime of this rank on the interfaces that it needs, not connected yet. Collective.
// Throws std::runtime_error if a transport cannot be opened, ConfigError if the settings require an
// unavailable one.
std::unique_ptr<core::Runtime> open_runtime(const config::Settings& settings,
                                            launch::Bootstrap& bootstrap, core::Options options);

}  // namespace torusmp::job

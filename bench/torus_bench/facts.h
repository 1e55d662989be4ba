// SPDX-License-Identifier: BSD-3-Clause
// The system on which a measurement runs, recorded with each figure.
//
// Called by rank 0 inside a Session.
#pragma once

#include <string>
#include <vector>

#include "bench/figures/figures.h"
#include "config/settings.h"
#include "routing/torus.h"

namespace torusmp::bench {

std::vector<Fact> gather_facts(const config::Settings& settings, const routing::Torus& torus);

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
// What a measurement ran on: without it a figure says nothing.
//
// Called by rank 0 inside a Session.
#pragma once

#include <string>
#include <vector>

#include "bench/torus_bench/figures.h"
#include "config/settings.h"
#include "routing/torus.h"

namespace torusmp::bench {

std::vector<Fact> gather_facts(const config::Settings& settings, const routing::Torus& torus);

// The same for people, in two lines.
std::string describe(const std::vector<Fact>& facts);
// In one short line, for a drawing.
std::string summarize(const std::vector<Fact>& facts);

}  // namespace torusmp::bench

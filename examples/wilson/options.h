// SPDX-License-Identifier: BSD-3-Clause
// The command line of wilson. Plain values; called from main() only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lattice.h"

namespace wilson {

struct Options {
    bool help = false, antiperiodic = false, cold = false, pion = false;
    std::optional<Coord> lattice, grid;
    std::string config;  // file; may be empty
    double kappa = 0;
    double tolerance = 0;  // of |b - M x| / |b|
    int iterations = 0;    // at most, for each source
    std::uint64_t seed = 0;
};

// `help` becomes the text of --help. Throws InputError with one complete message.
Options parse_options(int argc, char** argv, std::string& help);

}  // namespace wilson

// SPDX-License-Identifier: BSD-3-Clause
// The options of torus-bench as they are declared and explained.
#pragma once

#include <boost/program_options/options_description.hpp>

namespace torusmp::bench {

boost::program_options::options_description command_line_options();

}  // namespace torusmp::bench

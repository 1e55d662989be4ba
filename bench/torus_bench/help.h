// SPDX-License-Identifier: BSD-3-Clause
// The declarations and help texts of torus-bench's options.
#pragma once

#include <boost/program_options/options_description.hpp>

namespace torusmp::bench {

boost::program_options::options_description command_line_options();

}  // namespace torusmp::bench

// SPDX-License-Identifier: BSD-3-Clause
// The common part of the command lines of the examples.
#pragma once

#include <boost/program_options.hpp>
#include <string>

namespace wilson {

// Reads the options of `description`, and stores their values. `help` becomes the text of --help,
// with the examples at its end. Throws InputError with one complete message.
boost::program_options::variables_map read_command_line(
    int argc, char** argv, const boost::program_options::options_description& description,
    const char* examples, std::string& help);

}  // namespace wilson

// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.h"

#include <fmt/format.h>

#include <sstream>

#include "lattice.h"

namespace wilson {

namespace po = boost::program_options;

po::variables_map read_command_line(int argc, char** argv,
                                    const po::options_description& description,
                                    const char* examples, std::string& help) {
    po::variables_map given;
    // No abbreviations: a shortened option may mean something else in the next version.
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    try {
        po::store(po::command_line_parser(argc, argv)
                      .options(description)
                      .positional({})
                      .style(style)
                      .run(),
                  given);
        po::notify(given);
    } catch (const po::error& error) {
        throw InputError(fmt::format("{}; --help lists the options", error.what()));
    }
    std::ostringstream text;
    text << description << examples;
    help = text.str();
    return given;
}

}  // namespace wilson

// SPDX-License-Identifier: BSD-3-Clause
// The options that every program of torusmp shares, and how a program reports errors.
//
//   po::options_description options("Options");
//   add_common_options(options);          // --config --torus --set --help --version
//   options.add_options()(...);           // its own
//   return run_program("torus-info", [&] {
//       const auto given = parse_options(argc, argv, options);
//       const Settings settings = load(request_from(given));
//       ...
//   });
//
// Free functions without state, called from main().
#pragma once

#include <boost/program_options.hpp>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "config/load.h"

namespace torusmp::config {

inline constexpr int exit_ok = 0;
inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;  // a setting or an option is wrong; nothing was started

// An error in the command line, in one message.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// --config FILE, --torus DIMS, --set KEY=VALUE: the options that request_from() reads.
void add_setting_options(boost::program_options::options_description& options);
// The options above, --help and --version.
void add_common_options(boost::program_options::options_description& options);

// Parses the whole command line. Options must not be abbreviated. Words that are not options go to
// `positional`; without it they are refused. Throws UsageError, which suggests the nearest option
// for a mistyped one.
boost::program_options::variables_map parse_options(
    int argc, const char* const* argv, const boost::program_options::options_description& options,
    const boost::program_options::positional_options_description& positional = {});

// Converts boost's parse errors into UsageError, for programs with a parser of their own.
[[noreturn]] void throw_usage_error(const boost::program_options::error& error,
                                    const boost::program_options::options_description& options);

// Throws ConfigError for a --set that is not KEY=VALUE.
LoadRequest request_from(const boost::program_options::variables_map& given);

// "0.1.0 (commit 1a2b3c4)", with the commit if it is known.
std::string version_text();
// "NAME (torusmp) VERSION", with the commit that was built, if known.
void print_version(std::string_view name);

// Runs the body of main() and returns the exit code. For ConfigError and UsageError it prints one
// message on stderr, "name: message", and returns 2; for any other exception 1.
int run_program(std::string_view name, const std::function<int()>& body);

}  // namespace torusmp::config

// The options that every program of torusmp shares, and how a program reports what went wrong.
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
#include <string_view>

#include "config/load.h"

namespace torusmp::config {

inline constexpr int exit_ok = 0;
inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;  // a setting or an option is wrong; nothing was started

// A command line that is wrong, in one message.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// --config FILE, --torus DIMS, --set KEY=VALUE: what request_from() understands.
void add_setting_options(boost::program_options::options_description& options);
// These, --help and --version.
void add_common_options(boost::program_options::options_description& options);

// Parses the whole command line. Options may not be shortened. Words that are no option go to
// `positional`; without it they are refused. Throws UsageError; a mistyped option is told the
// nearest right one.
boost::program_options::variables_map parse_options(
    int argc, const char* const* argv, const boost::program_options::options_description& options,
    const boost::program_options::positional_options_description& positional = {});

// Turns boost's exceptions of a parse into UsageError, for programs with a parser of their own.
[[noreturn]] void throw_usage_error(const boost::program_options::error& error,
                                    const boost::program_options::options_description& options);

// Throws ConfigError for a --set that is no KEY=VALUE.
LoadRequest request_from(const boost::program_options::variables_map& given);

// Runs the body of main() and returns the exit code. ConfigError and UsageError print one message
// on stderr, "name: message", and give 2; any other exception gives 1.
int run_program(std::string_view name, const std::function<int()>& body);

}  // namespace torusmp::config

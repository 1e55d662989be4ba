// SPDX-License-Identifier: BSD-3-Clause
// The command line of torus-check. Throws config::UsageError with a message for people.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/options.h"
#include "config/settings.h"

namespace torusmp::torus_check {

boost::program_options::options_description make_options();
// Returns the exit code.
int print_help(const boost::program_options::options_description& options);
// Rejects options that exclude each other.
void check_options(const boost::program_options::variables_map& given);

std::optional<int> number_option(const boost::program_options::variables_map& given,
                                 const char* option, int low, int high);
std::chrono::milliseconds timeout_option(const boost::program_options::variables_map& given);
// Whether --devices names a device.
std::function<bool(const std::string&)> wanted_devices(
    const boost::program_options::variables_map& given);
std::vector<std::string> split_list(const std::string& text);
config::Settings load_settings(const boost::program_options::variables_map& given);

}  // namespace torusmp::torus_check

// SPDX-License-Identifier: BSD-3-Clause
// The texts of torus-info about settings: one setting for the terminal, and the reference of all
// settings. Pure functions.
#pragma once

#include <string>

#include "config/settings.h"

namespace torusmp::torus_info {

// Formats a value for people: explains an empty value and shortens a long one.
std::string shown_value(const config::AnySetting& setting, const config::Settings& settings);

// For example "default", "geometry.toml:3", "--torus", "TORUSMP_TRANSPORT_TOKENS".
std::string describe_origin(const config::Origin& origin);

// Describes one setting: its purpose, the accepted values, how to set it, and its current value.
std::string explain_setting(const config::AnySetting& setting, const config::Settings& settings);

// The reference of all settings, as Markdown. It is the same for all build options.
std::string reference_page(const config::Schema& schema);

}  // namespace torusmp::torus_info

// SPDX-License-Identifier: BSD-3-Clause
// What torus-info tells about settings in words: one of them for the terminal, and all of them as
// the reference of all settings. Pure functions.
#pragma once

#include <string>

#include "config/settings.h"

namespace torusmp::config {

// For people: says what an empty value means, and shortens a long one.
std::string shown_value(const AnySetting& setting, const Settings& settings);

// "default", "geometry.toml:3", "--torus", "TORUSMP_TRANSPORT_TOKENS"
std::string describe_origin(const Origin& origin);

// Everything about one setting: what it is for, what it accepts, how to set it, what it is now.
std::string explain_setting(const AnySetting& setting, const Settings& settings);

// The reference of all settings, as Markdown: the same page whatever this build leaves out.
std::string reference_page(const Schema& schema);

}  // namespace torusmp::config

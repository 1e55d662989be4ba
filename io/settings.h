// SPDX-License-Identifier: BSD-3-Clause
// The setting of the layer io: which host has the files below a path.
#pragma once

#include <map>
#include <string>

#include "config/setting.h"

namespace torusmp::io {

// Maps a prefix of absolute paths to a host, or to one of the words below.
using Homes = std::map<std::string, std::string>;
// Each host has a file system of its own there; all hosts share one; the hosts find out.
inline constexpr const char* each_host = "each";
inline constexpr const char* all_hosts = "all";
inline constexpr const char* found_out = "auto";

config::Type<Homes> homes_type();

// The longest prefix of the path; homes.end() if there is none.
Homes::const_iterator home_of(const Homes& homes, const std::string& absolute);

namespace setting {

inline const config::Setting<Homes> at{
    "io.at",
    homes_type(),
    {},
    "Where files live: prefixes of paths, and the host whose disk is there. Ranks on other hosts "
    "read and write these files through the ranks of that host. each: every host has a file system "
    "of its own there, so a file can only be opened by ranks of one host. all: the hosts share the "
    "file system, and all ranks use it. auto: the hosts compare what they see when a file is "
    "opened. The longest matching prefix applies; without one, auto.",
    {.unset = "auto for every path",
     .example = "/home=head,/scratch=each",
     .in_file = "the table [io.at]"}};

inline const config::Table table{&at};

}  // namespace setting
}  // namespace torusmp::io

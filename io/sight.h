// SPDX-License-Identifier: BSD-3-Clause
// What a host sees at a path: the file, the folder that it is in, and the file system of both.
//
// A plain value, as it crosses the wire. Blocks as long as the file system does.
#pragma once

#include <cstdint>
#include <string>

#include "io/settings.h"

namespace torusmp::io {

struct Sight {
    std::uint64_t kernel;        // equal on hosts that are containers of one kernel; 0 if not known
    std::uint64_t device;        // of the folder; means something within one kernel
    std::uint64_t folder, file;  // inodes; 0 if it does not exist or cannot be seen
    std::int64_t changed, changed_ns;  // when the folder's entries or rights last did
    std::int64_t type;                 // of the file system (statfs)
    std::int32_t shared;               // it is one that hosts mount from others
    std::int32_t rule;   // index in Homes of the entry that says where it lives, or -1
    std::int32_t named;  // that rule names this host
    std::int32_t error;  // why the folder cannot be seen: errno value
    char host[64];

    std::string host_name() const { return {host, std::char_traits<char>::length(host)}; }
};

// node: the host's name in the settings, if it has one.
Sight look_at(const std::string& path, const Homes& homes, const std::string& node);

// Whether both see the same file system there. Precondition: both see the folder.
bool same_place(const Sight& one, const Sight& other);

// "ext4", "nfs"; a number in hexadecimal for one that is not known.
std::string name_of_type(std::int64_t type);

}  // namespace torusmp::io

// SPDX-License-Identifier: BSD-3-Clause
// The view of a host at a path: the file, the folder that contains it, and the file system.
//
// A Sight is a plain value in the wire format. look_at() blocks as long as the file system does.
#pragma once

#include <cstdint>
#include <string>

#include "io/settings.h"

namespace torusmp::io {

struct Sight {
    std::uint64_t kernel;        // equal on hosts that are containers of one kernel; 0 if not known
    std::uint64_t device;        // of the folder; comparable within one kernel
    std::uint64_t folder, file;  // inodes; 0 if it does not exist or cannot be seen
    std::int64_t changed, changed_ns;  // time of the last change of the folder or its permissions
    std::int64_t type;                 // of the file system (statfs)
    std::int32_t shared;  // 1 for a network file system, which hosts mount from other hosts
    std::int32_t rule;    // index of the entry of Homes for this path, or -1
    std::int32_t named;   // 1 if that entry names this host
    std::int32_t error;   // an errno value, why the folder cannot be seen
    char host[64];

    std::string host_name() const { return {host, std::char_traits<char>::length(host)}; }
};

// `node` is the name of this host in the settings, or empty if it has none.
Sight look_at(const std::string& path, const Homes& homes, const std::string& node);

// Whether both hosts see the same folder. Precondition: both see a folder.
bool same_place(const Sight& one, const Sight& other);

// The name of a file system, for example "ext4" or "nfs"; the number in hexadecimal if it is not
// known.
std::string name_of_type(std::int64_t type);

}  // namespace torusmp::io

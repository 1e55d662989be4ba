// SPDX-License-Identifier: BSD-3-Clause
// The control groups that this process is in, where the kernel and containers set limits.
//
// Free functions without state; any thread may call.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace torusmp::config {

struct ControlGroup {
    std::filesystem::path folder;  // with the files of the limits
    bool unified = true;           // version 2 of the interface, whose files have other names
};

// The group of a controller ("cpu", "pids"), and those above it, which limit it too. The path may
// lie outside what a container sees; then only the top, which is the container's own, has files.
// `root` is where /proc and /sys are found.
std::vector<ControlGroup> control_groups(std::string_view controller,
                                         const std::filesystem::path& root = "/");

}  // namespace torusmp::config

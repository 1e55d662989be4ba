// SPDX-License-Identifier: BSD-3-Clause
// The control groups of this process, through which the kernel and containers set limits.
//
// Free functions without state; any thread may call.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace torusmp::config {

struct ControlGroup {
    std::filesystem::path folder;  // contains the files of the limits
    bool unified = true;           // version 2 of the interface, whose files have other names
};

// The group of a controller ("cpu", "pids") and its ancestors, which limit it too. The path may be
// invisible from inside a container; then only the top, which is the container's own group, has
// files. `root` is the directory that contains /proc and /sys.
std::vector<ControlGroup> control_groups(std::string_view controller,
                                         const std::filesystem::path& root = "/");

}  // namespace torusmp::config

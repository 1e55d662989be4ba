// SPDX-License-Identifier: BSD-3-Clause
#include "config/cgroup.h"

#include <fstream>
#include <sstream>
#include <string>

namespace torusmp::config {

namespace {

bool has_word(const std::string& list, std::string_view word) {
    std::istringstream in(list);
    for (std::string item; std::getline(in, item, ',');)
        if (item == word) return true;
    return false;
}

}  // namespace

std::vector<ControlGroup> control_groups(std::string_view controller,
                                         const std::filesystem::path& root) {
    const std::filesystem::path top = root / "sys/fs/cgroup";
    std::ifstream memberships(root / "proc/self/cgroup");
    std::vector<ControlGroup> groups;
    // Each line: number, controllers, path; version 2 has the number 0 and no controllers.
    for (std::string line; std::getline(memberships, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const bool unified = controllers.empty();
        if (!unified && !has_word(controllers, controller)) continue;
        std::filesystem::path group = line.substr(second + 1);
        for (group = group.relative_path();; group = group.parent_path()) {
            groups.push_back({top / controllers / group, unified});
            if (group.empty()) break;
        }
    }
    return groups;
}

}  // namespace torusmp::config

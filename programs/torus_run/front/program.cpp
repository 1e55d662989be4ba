// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "config/options.h"
#include "programs/torus_run/front/installed.h"

namespace torusmp::torus_run {
namespace {

using config::UsageError;

bool is_file(const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string find_in_path(const std::string& name, const char* path) {
    std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
    std::string not_executable;
    while (true) {
        const std::size_t colon = rest.find(':');
        const std::string_view folder = rest.substr(0, colon);
        const std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
        if (is_file(candidate)) {
            if (access(candidate.c_str(), X_OK) == 0) return candidate;
            not_executable = candidate;
        }
        if (colon == std::string_view::npos) break;
        rest.remove_prefix(colon + 1);
    }
    if (!not_executable.empty())
        throw UsageError(
            fmt::format("{} is not executable (found in PATH for '{}')", not_executable, name));
    throw UsageError(
        fmt::format("program '{}' was not found in PATH{}", name,
                    is_file(name) ? fmt::format("; did you mean ./{} in this folder?", name) : ""));
}

std::string find_here(const std::string& name, const char* path) {
    if (name.empty()) throw UsageError("the name of the program is empty");
    if (name.find('/') == std::string::npos) return find_in_path(name, path);
    if (access(name.c_str(), F_OK) != 0)
        throw UsageError(fmt::format("cannot find program '{}': {}", name, std::strerror(errno)));
    if (!is_file(name)) throw UsageError(fmt::format("program '{}' is not a file", name));
    if (access(name.c_str(), X_OK) != 0)
        throw UsageError(
            fmt::format("program '{}' is not executable: {}", name, std::strerror(errno)));
    return name;
}

void check_folder(const std::string& folder) {
    struct stat info {};
    if (stat(folder.c_str(), &info) == 0 && !S_ISDIR(info.st_mode))
        errno = ENOTDIR;
    else if (access(folder.c_str(), X_OK) == 0)
        return;
    throw UsageError(
        fmt::format("cannot enter the working directory '{}': {}", folder, std::strerror(errno)));
}

// Whether the loader searches the folder by default, as /usr/lib64 or /usr/lib/x86_64-linux-gnu; in
// LD_LIBRARY_PATH it would precede the run paths of all programs. Subfolders of these are not
// searched by default.
bool is_system_folder(const std::filesystem::path& folder) {
    for (const char* system : {"/lib", "/usr/lib"})
        for (const char* size : {"", "32", "64", "x32"}) {
            const std::string name = fmt::format("{}{}", system, size);
            if (folder == name || folder.parent_path() == name) return true;
        }
    return false;
}

// Empty if programs need no help: the shared library is missing, or the system searches its folder.
std::string library_folder() {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return {};
    const auto folder =
        std::filesystem::canonical(self.parent_path() / libraries_from_programs, error);
    if (error || !is_file(folder / TORUSMP_LIBRARY) || is_system_folder(folder)) return {};
    return folder;
}

bool lists(std::string_view folders, std::string_view folder) {
    while (true) {
        const std::size_t colon = folders.find(':');
        if (folders.substr(0, colon) == folder) return true;
        if (colon == std::string_view::npos) return false;
        folders.remove_prefix(colon + 1);
    }
}

}  // namespace

void add_library_folder(std::vector<std::string>& environment) {
    const std::string folder = library_folder();
    if (folder.empty()) return;
    constexpr std::string_view name = "LD_LIBRARY_PATH=";
    const auto found =
        std::find_if(environment.begin(), environment.end(),
                     [name](const std::string& entry) { return entry.starts_with(name); });
    if (found == environment.end())
        environment.push_back(fmt::format("{}{}", name, folder));
    else if (*found == name)
        *found += folder;
    else if (!lists(std::string_view(*found).substr(name.size()), folder))
        *found += ":" + folder;
}

std::string find_program(const std::string& name, const char* path, const std::string& folder) {
    if (folder.empty()) return find_here(name, path);
    check_folder(folder);
    const bool in_folder = name.find('/') != std::string::npos && name.front() != '/';
    return std::filesystem::absolute(find_here(in_folder ? folder + "/" + name : name, path));
}

}  // namespace torusmp::torus_run

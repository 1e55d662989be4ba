#include "launch/torus_run/program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "config/options.h"

namespace torusmp::launch {
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
    throw UsageError(fmt::format(
        "program '{}' is in no folder of PATH{}", name,
        is_file(name) ? fmt::format("; for the file in this folder write ./{}", name) : ""));
}

std::string find_here(const std::string& name, const char* path) {
    if (name.empty()) throw UsageError("the program's name is empty");
    if (name.find('/') == std::string::npos) return find_in_path(name, path);
    if (access(name.c_str(), F_OK) != 0)
        throw UsageError(
            fmt::format("program '{}' cannot be found: {}", name, std::strerror(errno)));
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
    throw UsageError(fmt::format("the working directory '{}' cannot be entered: {}", folder,
                                 std::strerror(errno)));
}

}  // namespace

std::string find_program(const std::string& name, const char* path, const std::string& folder) {
    if (folder.empty()) return find_here(name, path);
    check_folder(folder);
    const bool in_folder = name.find('/') != std::string::npos && name.front() != '/';
    return std::filesystem::absolute(find_here(in_folder ? folder + "/" + name : name, path));
}

}  // namespace torusmp::launch

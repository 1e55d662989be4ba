// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/monitor/runtime_folder.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "base/units.h"

namespace torusmp::torus_run {
namespace {

constexpr std::string_view job_prefix = "job-";

[[noreturn]] void no_socket(const std::string& path, std::string_view what) {
    throw std::runtime_error(fmt::format("{}: {}", path, what));
}

std::optional<sockaddr_un> unix_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return std::nullopt;
    std::copy(path.begin(), path.end(), address.sun_path);
    return address;
}

}  // namespace

std::string runtime_folder() {
    const char* const given = std::getenv("XDG_RUNTIME_DIR");
    const bool usable = given != nullptr && given[0] == '/' && access(given, W_OK | X_OK) == 0;
    const std::string folder =
        usable ? fmt::format("{}/torusmp", given) : fmt::format("/tmp/torusmp-{}", geteuid());
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        no_socket(folder, fmt::format("cannot be created: {}", std::strerror(errno)));
    struct stat info {};
    if (lstat(folder.c_str(), &info) != 0) no_socket(folder, std::strerror(errno));
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077) != 0)
        no_socket(folder,
                  "expected a folder that only this user can access (chmod 700), for the sockets "
                  "of jobs");
    return folder;
}

std::string job_socket_path(const std::string& folder, pid_t job) {
    return fmt::format("{}/{}{}", folder, job_prefix, job);
}

base::Descriptor listen_for_observers(const std::string& path) {
    const auto address = unix_address(path);
    if (!address) no_socket(path, "its path is too long for a socket");
    base::Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener) no_socket(path, std::strerror(errno));
    unlink(path.c_str());  // left by a killed job with the same number
    // The folder excludes other users until the mode is set.
    if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
        chmod(path.c_str(), 0600) != 0 || listen(listener.get(), 16) != 0)
        no_socket(path, std::strerror(errno));
    return listener;
}

base::Descriptor connect_to_job(const std::string& path) {
    const auto address = unix_address(path);
    base::Descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!address) errno = ENAMETOOLONG;
    if (!address || !connection ||
        connect(connection.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) !=
            0)
        return {};
    return connection;
}

uid_t user_at(int socket) {
    ucred who{};
    socklen_t size = sizeof who;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 ? who.uid : uid_t(-1);
}

std::vector<pid_t> running_jobs(const std::string& folder) {
    std::vector<pid_t> jobs;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename();
        if (!name.starts_with(job_prefix)) continue;
        const auto pid = base::parse_integer(name.substr(job_prefix.size()));
        if (!pid || *pid < 1) continue;
        if (connect_to_job(entry.path()))
            jobs.push_back(pid_t(*pid));
        else if (errno == ECONNREFUSED)
            unlink(entry.path().c_str());
    }
    std::sort(jobs.begin(), jobs.end());
    return jobs;
}

}  // namespace torusmp::torus_run

// SPDX-License-Identifier: BSD-3-Clause
#include "launch/published_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/algorithm/hex.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "base/descriptor.h"
#include "launch/meeting_socket.h"
#include "launch/port_name.h"

namespace torusmp::launch {
namespace {

// Files in a folder to which only this user can write.
std::string names_folder() {
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
    std::string folder = runtime != nullptr && *runtime == '/' && access(runtime, W_OK) == 0
                             ? fmt::format("{}/torusmp", runtime)
                             : fmt::format("/tmp/torusmp-{}", geteuid());
    struct stat network {};
    stat("/proc/self/ns/net", &network);
    for (int level = 0; level < 2; ++level) {
        if (level == 1) folder += fmt::format("/names-{}", network.st_ino);
        struct stat info {};
        if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
            throw std::runtime_error(
                fmt::format("cannot create {}: {}", folder, std::strerror(errno)));
        if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
            info.st_uid != geteuid() || (info.st_mode & 022) != 0)
            throw std::runtime_error(
                fmt::format("{} is not a folder to which only this user can write", folder));
    }
    return folder;
}

std::string path_of(const std::string& service) {
    const std::string name = boost::algorithm::hex_lower(service);
    if (name.size() > 240)
        throw std::runtime_error("the service name is longer than 120 characters");
    return fmt::format("{}/{}", names_folder(), name);
}

// Held while a name is changed, by one process at a time.
base::Descriptor lock_names() {
    base::Descriptor folder(::open(names_folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (folder && flock(folder.get(), LOCK_EX) != 0 && errno == EINTR) continue;
    return folder;
}

std::optional<std::string> read_name(const std::string& path) {
    const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) return std::nullopt;
    std::string port(1024, '\0');
    const ssize_t n = read(file.get(), port.data(), port.size());
    port.resize(n > 0 ? std::size_t(n) : 0);
    return port;
}

// A process that was killed has left its name. Programs may publish any text.
bool is_stale(const std::string& text) {
    const auto port = PortName::read(text);
    return port && !connect_to(port->socket, SOCK_NONBLOCK) && errno == ECONNREFUSED;
}

}  // namespace

std::optional<std::string> look_up(const std::string& service) {
    auto text = read_name(path_of(service));
    if (text && is_stale(*text)) text.reset();
    return text;
}

// The name appears with its whole content: others may look it up at any time.
bool publish(const std::string& service, const std::string& port) {
    const std::string path = path_of(service);
    const base::Descriptor lock = lock_names();
    const auto there = read_name(path);
    if (there && !is_stale(*there)) return false;
    std::string draft = names_folder() + "/draft-XXXXXX";
    const base::Descriptor file(mkostemp(draft.data(), O_CLOEXEC));
    const bool written =
        file && write(file.get(), port.data(), port.size()) == ssize_t(port.size());
    const bool renamed = written && rename(draft.c_str(), path.c_str()) == 0;
    const int error = errno;
    if (file && !renamed) unlink(draft.c_str());
    if (!renamed)
        throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(error)));
    return true;
}

bool unpublish(const std::string& service, const std::string& port) {
    const std::string path = path_of(service);
    const base::Descriptor lock = lock_names();
    return read_name(path) == port && unlink(path.c_str()) == 0;
}

}  // namespace torusmp::launch

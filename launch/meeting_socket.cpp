// SPDX-License-Identifier: BSD-3-Clause
#include "launch/meeting_socket.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "launch/implementations.h"

namespace torusmp::launch {
namespace {

using Call = int (*)(int socket, const sockaddr* address, socklen_t length);

base::Descriptor open_socket(std::string_view name, int flags, Call call) {
    sockaddr_un address{};
    if (name.size() > longest_meeting_name) {
        errno = ENAMETOOLONG;
        return {};
    }
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    base::Descriptor opened(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
    if (!opened || call(opened.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0)
        return opened;
    const int error = errno;
    opened.reset();
    errno = error;
    return {};
}

}  // namespace

std::string random_digits() {
    std::string digits;
    for (const std::byte it : random_secret()) digits += fmt::format("{:02x}", unsigned(it));
    return digits;
}

base::Descriptor listen_as(std::string_view name, int most_waiting, int flags) {
    base::Descriptor opened = open_socket(name, flags, ::bind);
    if (opened && ::listen(opened.get(), most_waiting) != 0) return {};
    return opened;
}

base::Descriptor connect_to(std::string_view name, int flags) {
    return open_socket(name, flags, ::connect);
}

bool send_all(const base::Descriptor& socket, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes.remove_prefix(std::size_t(n));
    }
    return true;
}

bool is_same_user(const base::Descriptor& socket) {
    ucred who{};
    socklen_t size = sizeof who;
    return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           who.uid == geteuid();
}

}  // namespace torusmp::launch

// SPDX-License-Identifier: BSD-3-Clause
#include "base/passing.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace torusmp::base {

bool pass(int socket, std::span<const std::byte> message, std::span<const int> descriptors) {
    iovec part{const_cast<std::byte*>(message.data()), message.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most_passed * sizeof(int))> control{};
    msghdr whole{};
    whole.msg_iov = &part;
    whole.msg_iovlen = 1;
    if (!descriptors.empty()) {
        whole.msg_control = control.data();
        whole.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* const it = CMSG_FIRSTHDR(&whole);
        it->cmsg_level = SOL_SOCKET;
        it->cmsg_type = SCM_RIGHTS;
        it->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(it), descriptors.data(), descriptors.size_bytes());
    }
    return sendmsg(socket, &whole, MSG_NOSIGNAL) == ssize_t(message.size());
}

std::optional<std::vector<Descriptor>> take_passed(int socket, std::span<std::byte> message) {
    iovec part{message.data(), message.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most_passed * sizeof(int))> control{};
    msghdr whole{};
    whole.msg_iov = &part;
    whole.msg_iovlen = 1;
    whole.msg_control = control.data();
    whole.msg_controllen = control.size();
    ssize_t got = 0;
    do got = recvmsg(socket, &whole, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    std::vector<Descriptor> all;
    if (const cmsghdr* it = got < 0 ? nullptr : CMSG_FIRSTHDR(&whole);
        it != nullptr && it->cmsg_level == SOL_SOCKET && it->cmsg_type == SCM_RIGHTS) {
        std::array<int, most_passed> descriptors{};
        const std::size_t bytes = it->cmsg_len - CMSG_LEN(0);
        std::memcpy(descriptors.data(), CMSG_DATA(it), bytes);
        for (std::size_t i = 0; i < bytes / sizeof(int); ++i) all.emplace_back(descriptors[i]);
    }
    if (got != ssize_t(message.size())) return std::nullopt;
    return all;
}

}  // namespace torusmp::base

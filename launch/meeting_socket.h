// SPDX-License-Identifier: BSD-3-Clause
// Sockets on which processes of one user and one host meet. Their addresses are abstract, so
// nothing is left behind; the kernel lists them for everybody.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace torusmp::launch {

// The longest name of a meeting socket.
inline constexpr std::size_t longest_meeting_name = sizeof(sockaddr_un::sun_path) - 1;

// 32 hexadecimal digits from the kernel's random source.
std::string random_digits();

// Listens, or connects; closed on exec. Without a socket if that failed, with errno; also if the
// name is too long.
base::Descriptor listen_as(std::string_view name, int most_waiting, int flags = 0);
// With SOCK_NONBLOCK in `flags`, fails with EAGAIN if as many callers wait as the listener allows.
base::Descriptor connect_to(std::string_view name, int flags = 0);

// Blocks. Returns false if the other end has closed the connection.
bool send_all(const base::Descriptor& socket, std::string_view bytes);

// Whether the other end belongs to the user of this process.
bool is_same_user(const base::Descriptor& socket);

}  // namespace torusmp::launch

// SPDX-License-Identifier: BSD-3-Clause
// What all TCP sockets here have in common.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace torusmp::transport::tcp {

// Throws std::runtime_error: what, and the system's reason.
[[noreturn]] void fail(std::string_view what, int error = errno);
void set(int socket, int level, int option, int value);
// Takes the requested buffer size even beyond the system's limit, if we are privileged.
void set_buffer(int socket, int forced, int plain, std::size_t bytes);
// With an empty name, to none. Throws std::runtime_error.
void bind_to_device(int socket, const std::string& device);
std::uint16_t port_of(int socket);
socklen_t length_of(const sockaddr_storage& address);
// A listening socket for both families, or for IPv4 if the kernel has no other. tcp_port: 0 is any.
// most_calling: how many calls the kernel answers before any is accepted.
base::Descriptor open_listener(const std::string& device, std::uint16_t tcp_port,
                               std::size_t most_calling);

}  // namespace torusmp::transport::tcp

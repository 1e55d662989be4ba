// SPDX-License-Identifier: BSD-3-Clause
// Common functions for TCP sockets.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace torusmp::transport::tcp {

// Throws std::runtime_error with `what` and the system's reason.
[[noreturn]] void fail(std::string_view what, int error = errno);
void set(int socket, int level, int option, int value);
// Sets the requested buffer size, even beyond the system's limit if the process is privileged.
void set_buffer(int socket, int forced, int plain, std::size_t bytes);
// With an empty name, binds to none. Throws std::runtime_error.
void bind_to_device(int socket, const std::string& device);
// Lets the kernel probe an idle connection after a third of `timeout`, and end it when several
// probes in a row had no answer. If `brisk`, the connection ends about `timeout` after the peer was
// last heard; otherwise no earlier than `timeout` after the first probe, since it may have been
// idle before it fell silent.
void set_keepalive(int socket, std::chrono::nanoseconds timeout, bool brisk);
std::uint16_t port_of(int socket);
socklen_t length_of(const sockaddr_storage& address);
// A listening socket for both families, or for IPv4 if the kernel has no other. A `tcp_port` of 0
// means any. The kernel answers at most `most_calling` calls before any is accepted.
base::Descriptor open_listener(const std::string& device, std::uint16_t tcp_port,
                               std::size_t most_calling);

}  // namespace torusmp::transport::tcp

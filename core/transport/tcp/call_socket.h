// SPDX-License-Identifier: BSD-3-Clause
// Makes the sockets of connections, and sets how they behave.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "core/transport/tcp/calling.h"
#include "core/transport/tcp/options.h"

namespace torusmp::transport::tcp {

// Sets the options of a new socket: buffers, congestion control, and how long it may be silent
// during the handshake.
void tune(int socket, const InterfaceOptions& options);
// How long our kernel waits for an answer before it ends the connection; 0 for its default.
void limit_silence(int socket, std::chrono::nanoseconds limit);
// A socket that has begun to connect the two ends. `name` is the channel's, for messages. Throws
// std::runtime_error. Precondition: the ends share a network.
base::Descriptor call_socket(const Calling& calling, const std::string& name,
                             const InterfaceOptions& options);

}  // namespace torusmp::transport::tcp

// SPDX-License-Identifier: BSD-3-Clause
// Calls to ports, and what torus-stand-in does on a host for a process of the same job on another
// host. torus-run carries its standard input and output to and from that process.
#pragma once

#include <string>

#include "base/descriptor.h"

namespace torusmp::launch {

// The reason, after connect_to(a port), why this process cannot talk to the port, which names its
// host as `host`; empty if it can.
std::string why_not_connected(const base::Descriptor& port, const std::string& host);

// Connects to a port of this host and carries bytes both ways until one end closes. First sends a
// message of its own: empty, or why it could not connect, which names this host as `host`. Returns
// the exit code.
int carry_to_port(const std::string& socket, const std::string& host);

// Prints the port of this name, as hexadecimal digits in a line, if it is published on this host.
// Returns the exit code.
int print_port_of(const std::string& service);

}  // namespace torusmp::launch

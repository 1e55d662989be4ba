// SPDX-License-Identifier: BSD-3-Clause
// What torus-stand-in does on a host for a process of the same job on another host. torus-run
// carries its standard input and output to and from that process.
#pragma once

#include <string>

namespace torusmp::launch {

// Connects to a port of this host and carries bytes both ways until one end closes. First sends a
// message of its own: empty, or why it could not connect, which names this host as `host`. Returns
// the exit code.
int carry_to_port(const std::string& socket, const std::string& host);

// Prints the port of this name, as hexadecimal digits in a line, if it is published on this host.
// Returns the exit code.
int print_port_of(const std::string& service);

}  // namespace torusmp::launch

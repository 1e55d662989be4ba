// SPDX-License-Identifier: BSD-3-Clause
// What the kernel knows of this host's TCP connections that are bound to a network device: how much
// they have sent, and how long they had something to send.
//
// Asks by netlink (sock_diag(7)), so that it sees the network namespace it runs in. Any thread may
// call.
#pragma once

#include <cstdint>
#include <vector>

namespace torusmp::base {

struct TcpTraffic {
    std::uint64_t connection = 0;  // the kernel's number of it, which is not used again
    unsigned device = 0;           // index of the network device
    std::uint64_t bytes = 0;       // that the other end's kernel has
    // Microseconds in which there were bytes that it did not have, though it had room for them.
    std::uint64_t busy = 0;
};

// Of established connections. Throws std::system_error if the kernel does not answer.
std::vector<TcpTraffic> read_tcp_traffic();

}  // namespace torusmp::base

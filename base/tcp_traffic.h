// SPDX-License-Identifier: BSD-3-Clause
// The kernel's statistics of this host's TCP connections that are bound to a network device: bytes
// sent, and the time with data waiting to be sent.
//
// Asks by netlink (sock_diag(7)), so that it sees the network namespace it runs in. Any thread may
// call.
#pragma once

#include <cstdint>
#include <vector>

namespace torusmp::base {

struct TcpTraffic {
    std::uint64_t connection = 0;  // the kernel's connection number, which is not reused
    unsigned device = 0;           // index of the network device
    std::uint64_t bytes = 0;       // acknowledged by the other end's kernel
    // Microseconds in which unacknowledged data was outstanding although the receiver had room for
    // it.
    std::uint64_t busy = 0;
    // The number of packets with data that were sent, and the number of retransmissions due to
    // loss. Both count modulo 2^32.
    std::uint32_t packets = 0, lost = 0;
    bool silent = false;  // no acknowledgement since the last retransmission
};

// Established connections. Throws std::system_error if the kernel does not answer.
std::vector<TcpTraffic> read_tcp_traffic();

}  // namespace torusmp::base

// SPDX-License-Identifier: BSD-3-Clause
// Types that the parts of a TcpInterface share: connections that are being established, and the
// events of its epoll.
#pragma once

#include "base/descriptor.h"
#include "core/transport/tcp/handshake.h"
#include "core/transport/tcp/interface.h"

namespace torusmp::transport::tcp {

// The object of an epoll event: a kind, in the low bits of a pointer or a number.
enum Watched : std::uint64_t { channel, attempt, listener, monitor, bell, alarm, companion };
inline constexpr std::uint64_t kind_bits = 3;

inline std::uint64_t mark(const void* object, Watched kind) {
    return std::uint64_t(reinterpret_cast<std::uintptr_t>(object)) | kind;
}

// A connection that is being established.
struct TcpInterface::Attempt {
    base::Descriptor socket;
    Handshake handshake;
    // Null for a pending connection, which came in through a listener.
    TcpChannel* caller = nullptr;
    bool called = false;           // by this end
    bool connecting = false;       // the kernels are still establishing it
    bool over = false;
    bool parked = false;  // proven: it waits for core to connect its port
};

}  // namespace torusmp::transport::tcp

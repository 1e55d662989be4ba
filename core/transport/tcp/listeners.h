// SPDX-License-Identifier: BSD-3-Clause
// The listening sockets of a TcpInterface. While the process has no descriptor left, connections
// stay in the kernel, where they would end every sleep, so the sockets are not watched for a while.
//
// Owned by its TcpInterface and used under the Runtime's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "core/transport/api/interface.h"
#include "core/transport/common/address.h"

namespace torusmp::transport::tcp {

class Listeners {
  public:
    using Log = std::function<void(std::string_view)>;

    // `epoll` reports a socket under its index, as Watched::listener. For `most_calling` see
    // open_listener(). `log` may be empty.
    Listeners(int epoll, std::size_t most_calling, std::string host, Log log)
        : epoll_(epoll),
          most_calling_(most_calling),
          host_(std::move(host)),
          log_(std::move(log)) {}

    // Listens on the endpoint's device, whose index is `device`, or on any, and notes the TCP port
    // in the endpoint, which must outlive this. Throws std::runtime_error.
    void open(Endpoint& endpoint, unsigned device);
    // Listens again, at the same TCP port, for a port whose device has been made anew: the old
    // socket is bound to a device that is gone. Throws std::runtime_error.
    void renew(std::uint32_t port, unsigned device);
    // Accepts one connection. Returns an empty descriptor if none waits, or if it cannot be
    // accepted now: then resume_at() says when to look again.
    base::Descriptor accept(std::size_t index);
    Clock::time_point resume_at() const { return resume_at_; }
    // Watches the sockets again once that is due.
    void resume(Clock::time_point now);
    void close() { sockets_.clear(); }

  private:
    struct Socket {
        base::Descriptor socket;
        const Endpoint* endpoint;
        unsigned device;  // the index of the device to which it is bound
    };

    void watch(int operation, std::size_t index, std::uint32_t events) const;
    void pause(int error);

    const int epoll_;
    const std::size_t most_calling_;
    const std::string host_;
    const Log log_;
    std::vector<Socket> sockets_;
    Clock::time_point resume_at_ = Clock::time_point::max();
    bool reported_ = false;  // that descriptors have run out
};

}  // namespace torusmp::transport::tcp

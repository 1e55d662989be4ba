// SPDX-License-Identifier: BSD-3-Clause
// The event loop of one thread: dispatches the events of watched descriptors to their handlers.
//
// A handler may watch, change and forget any descriptor, including its own. A forgotten handler is
// not called again, even if its event has already been fetched.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "base/descriptor.h"

namespace torusmp::torus_run {

class Loop {
  public:
    using Handler = std::function<void(std::uint32_t events)>;  // EPOLLIN, ...

    Loop();  // throws std::runtime_error

    // Returns false if the kernel cannot watch the descriptor (a regular file).
    bool watch(int fd, std::uint32_t events, Handler handler);
    // Ignores a descriptor that is not watched.
    void change(int fd, std::uint32_t events);
    // Call before the descriptor is closed.
    void forget(int fd);

    // Waits for events for at most `milliseconds` (-1: without limit), calls `first`, then the
    // handlers.
    void step(int milliseconds, const std::function<void()>& first);

  private:
    struct Watched {
        std::uint32_t number;  // distinguishes a descriptor from a later one with the same value
        std::uint32_t events;
        Handler handler;
    };

    base::Descriptor epoll_;
    std::uint32_t numbers_ = 0;
    std::unordered_map<int, std::shared_ptr<Watched>> watched_;
};

}  // namespace torusmp::torus_run

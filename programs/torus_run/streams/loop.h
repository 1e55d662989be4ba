// SPDX-License-Identifier: BSD-3-Clause
// The events of one thread: which descriptor is watched for what, and who handles it.
//
// A handler may watch, change and forget any descriptor, including its own; one that it forgets is
// not called any more, even if its event has already been fetched.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "base/descriptor.h"

namespace torusmp::launch {

class Loop {
  public:
    using Handler = std::function<void(std::uint32_t events)>;  // EPOLLIN, ...

    Loop();  // throws std::runtime_error

    // False: the kernel cannot watch it (a regular file).
    bool watch(int fd, std::uint32_t events, Handler handler);
    // Does nothing for a descriptor that is not watched.
    void change(int fd, std::uint32_t events);
    // To be called before the descriptor is closed.
    void forget(int fd);

    // Waits for events, for at most that long (-1: for ever); calls `first`, then the handlers.
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

}  // namespace torusmp::launch

// One thread's events: which descriptor is watched for what, and who handles it.
//
// A handler may watch, change and forget any descriptor, its own included; what it forgets is not
// called any more, also when its event has already been taken.
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
    // Nothing happens for a descriptor that is not watched.
    void change(int fd, std::uint32_t events);
    // To be called before the descriptor is closed.
    void forget(int fd);

    // Waits for events, or that long (-1: without end); calls `first`, then the handlers.
    void step(int milliseconds, const std::function<void()>& first);

  private:
    struct Watched {
        std::uint32_t number;  // tells a descriptor from a later one with the same value
        std::uint32_t events;
        Handler handler;
    };

    base::Descriptor epoll_;
    std::uint32_t numbers_ = 0;
    std::unordered_map<int, std::shared_ptr<Watched>> watched_;
};

}  // namespace torusmp::launch

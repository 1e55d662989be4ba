// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/streams/loop.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace torusmp::torus_run {
namespace {

epoll_event make_event(int fd, std::uint32_t events, std::uint32_t number) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = (std::uint64_t(number) << 32) | std::uint32_t(fd);
    return event;
}

}  // namespace

Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_) throw std::runtime_error(fmt::format("epoll_create: {}", std::strerror(errno)));
}

bool Loop::watch(int fd, std::uint32_t events, Handler handler) {
    forget(fd);
    const std::uint32_t number = ++numbers_;
    epoll_event event = make_event(fd, events, number);
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return false;
    watched_[fd] = std::make_shared<Watched>(Watched{number, events, std::move(handler)});
    return true;
}

void Loop::change(int fd, std::uint32_t events) {
    const auto found = watched_.find(fd);
    if (found == watched_.end() || found->second->events == events) return;
    found->second->events = events;
    epoll_event event = make_event(fd, events, found->second->number);
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Loop::forget(int fd) {
    if (watched_.erase(fd) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Loop::step(int milliseconds, const std::function<void()>& first) {
    epoll_event events[128];
    const int count = epoll_wait(epoll_.get(), events, 128, milliseconds);
    first();
    for (int i = 0; i < count; ++i) {
        const auto found = watched_.find(int(std::uint32_t(events[i].data.u64)));
        if (found == watched_.end() || found->second->number != events[i].data.u64 >> 32) continue;
        // keeps a handler alive that forgets itself
        const std::shared_ptr<Watched> kept = found->second;
        kept->handler(events[i].events);
    }
}

}  // namespace torusmp::torus_run

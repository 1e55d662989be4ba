// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/tcp/listeners.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "core/transport/tcp/attempt.h"
#include "core/transport/tcp/sockets.h"

namespace torusmp::transport::tcp {
namespace {

// How long a rank without descriptors waits before it tries to accept again.
constexpr std::chrono::milliseconds between_accepts(250);

}  // namespace

void Listeners::open(Endpoint& endpoint, unsigned device) {
    base::Descriptor socket = open_listener(endpoint.device, 0, most_calling_);
    endpoint.listens_on = port_of(socket.get());
    sockets_.push_back({std::move(socket), &endpoint, device});
    watch(EPOLL_CTL_ADD, sockets_.size() - 1, EPOLLIN);
}

void Listeners::renew(std::uint32_t port, unsigned device) {
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
        Socket& it = sockets_[i];
        const Endpoint& endpoint = *it.endpoint;
        if (endpoint.device.empty() || device == 0 || it.device == device || endpoint.port != port)
            continue;
        it.socket =
            open_listener(endpoint.device, std::uint16_t(endpoint.listens_on), most_calling_);
        it.device = device;
        watch(EPOLL_CTL_ADD, i, EPOLLIN);
    }
}

base::Descriptor Listeners::accept(std::size_t index) {
    base::Descriptor socket(
        accept4(sockets_[index].socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
        pause(errno);
    return socket;
}

void Listeners::pause(int error) {
    for (std::size_t i = 0; i < sockets_.size(); ++i) watch(EPOLL_CTL_MOD, i, 0);
    resume_at_ = Clock::now() + between_accepts;
    if (!log_ || std::exchange(reported_, true)) return;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    log_(fmt::format(
        "tcp: host {}: cannot accept a connection of another rank: {} ({}). It is accepted as "
        "soon as possible; {}",
        host_, std::strerror(error),
        error == EMFILE ? fmt::format("the limit of this process is {} open files", limit.rlim_cur)
                        : "a limit of the host",
        error == EMFILE ? "raise the limit (ulimit -n) or close files"
                        : "close files, or end processes, on this host"));
}

void Listeners::resume(Clock::time_point now) {
    if (now < resume_at_) return;
    resume_at_ = Clock::time_point::max();
    // Accepts at the next look, if a connection waits.
    for (std::size_t i = 0; i < sockets_.size(); ++i) watch(EPOLL_CTL_MOD, i, EPOLLIN);
}

void Listeners::watch(int operation, std::size_t index, std::uint32_t events) const {
    epoll_event event{events, {.u64 = index << kind_bits | Watched::listener}};
    if (epoll_ctl(epoll_, operation, sockets_[index].socket.get(), &event) != 0 &&
        operation == EPOLL_CTL_ADD)
        fail("epoll_ctl");
}

}  // namespace torusmp::transport::tcp

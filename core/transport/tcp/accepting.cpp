// SPDX-License-Identifier: BSD-3-Clause
// How a TcpInterface accepts connections, even if too many are pending or the process has no
// descriptor left.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "core/transport/tcp/attempt.h"
#include "core/transport/tcp/interface.h"

namespace torusmp::transport::tcp {
namespace {

// How long a rank without descriptors waits before it tries to accept again.
constexpr std::chrono::milliseconds between_accepts(250);

}  // namespace

// Drops a connection if too many are pending: the oldest that has not introduced itself, or else
// the oldest.
void TcpInterface::make_room() {
    Attempt* oldest = nullptr;
    Attempt* silent = nullptr;
    std::size_t pending = 0;
    for (const auto& it : attempts_) {
        if (it->caller != nullptr || it->over) continue;
        ++pending;
        if (oldest == nullptr) oldest = it.get();
        if (silent == nullptr && !it->handshake.introduced()) silent = it.get();
    }
    if (pending >= most_pending) (silent != nullptr ? silent : oldest)->over = true;
}

void TcpInterface::accept_from(std::size_t listening) {
    for (;;) {
        base::Descriptor socket(accept4(listening_[listening].socket.get(), nullptr, nullptr,
                                        SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) {
            const int error = errno;
            if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM)
                pause_accepting(error);
            return;
        }
        tune(socket.get());
        make_room();
        auto made = std::make_unique<Attempt>(
            Attempt{std::move(socket), Handshake::listen(options_.secret, address_.id)});
        epoll_event event{EPOLLIN, {.u64 = mark(made.get(), Watched::attempt)}};
        if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, made->socket.get(), &event) == 0)
            attempts_.push_back(std::move(made));
    }
}

// The connections stay in the kernel, where they would end every sleep.
void TcpInterface::pause_accepting(int error) {
    watch_listeners(0);
    accept_again_at_ = Clock::now() + between_accepts;
    alarm_.set(accept_again_at_);
    if (!options_.log || std::exchange(told_of_descriptors_, true)) return;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    options_.log(fmt::format(
        "tcp: host {}: cannot accept a connection of another rank: {} ({}). It is accepted as "
        "soon as possible; {}",
        options_.host, std::strerror(error),
        error == EMFILE ? fmt::format("the limit of this process is {} open files", limit.rlim_cur)
                        : "a limit of the host",
        error == EMFILE ? "raise the limit (ulimit -n) or close files"
                        : "close files, or end processes, on this host"));
}

void TcpInterface::accept_again() {
    accept_again_at_ = Clock::time_point::max();
    watch_listeners(EPOLLIN);  // accepts at the next look, if a connection waits
}

void TcpInterface::watch_listeners(std::uint32_t events) {
    for (std::size_t i = 0; i < listening_.size(); ++i) {
        epoll_event event{events, {.u64 = i << kind_bits | Watched::listener}};
        epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listening_[i].socket.get(), &event);
    }
}

}  // namespace torusmp::transport::tcp

// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/tree/joining.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>

#include "base/passing.h"

namespace torusmp::torus_run {
namespace {

constexpr std::size_t handed_over = 2;

// A name in the abstract name space, which belongs to the host's network namespace and leaves no
// file behind.
struct SocketName {
    sockaddr_un address{};
    socklen_t length;

    explicit SocketName(const std::string& name) {
        address.sun_family = AF_UNIX;
        name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
        length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 +
                           std::min(name.size(), sizeof address.sun_path - 1));
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

[[noreturn]] void joining_failed(const char* what) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

bool is_same_user(int fd) {
    ucred peer{};
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

}  // namespace

std::string daemon_name(std::uint64_t key, int node) {
    return fmt::format("torusmp-{:016x}-{}", key, node);
}

JoinPoint::JoinPoint(const std::string& name, Loop& loop, Joined joined)
    : loop_(loop),
      joined_(std::move(joined)),
      socket_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const SocketName at(name);
    if (!socket_ || bind(socket_.get(), at.get(), at.length) != 0 || listen(socket_.get(), 4) != 0)
        joining_failed("a socket to join this daemon");
    loop_.watch(socket_.get(), EPOLLIN, [this](auto) { accept_one(); });
}

JoinPoint::~JoinPoint() {
    loop_.forget(socket_.get());
}

// A joining process sends its descriptors before it is accepted; the wait for them is short.
void JoinPoint::accept_one() {
    base::Descriptor guest(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!guest || !is_same_user(guest.get())) return;
    const timeval timeout{1, 0};
    setsockopt(guest.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    std::uint64_t version = 0;
    auto ends = base::take_passed(guest.get(), std::as_writable_bytes(std::span(&version, 1)));
    if (!ends || ends->size() != handed_over) return;
    if (version < version_) return;
    version_ = version;
    guest_ = std::move(guest);
    joined_(std::move((*ends)[0]), std::move((*ends)[1]));
}

void join_daemon(const std::string& name, std::uint64_t version) {
    const base::Descriptor daemon(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const SocketName at(name);
    if (!daemon || connect(daemon.get(), at.get(), at.length) != 0)
        joining_failed("the daemon of this job on this host has ended");
    const int ends[handed_over] = {STDIN_FILENO, STDOUT_FILENO};
    if (!base::pass(daemon.get(), std::as_bytes(std::span(&version, 1)), ends))
        joining_failed("sendmsg to the daemon");
    // Closes the local copies, so that only the daemon holds the descriptors.
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    char byte = 0;
    while (read(daemon.get(), &byte, 1) < 0 && errno == EINTR) continue;
}

}  // namespace torusmp::torus_run

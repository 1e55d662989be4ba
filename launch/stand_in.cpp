// SPDX-License-Identifier: BSD-3-Clause
#include "launch/stand_in.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "launch/bootstrap.h"
#include "launch/environment.h"
#include "launch/meeting_socket.h"

namespace torusmp::launch {
namespace {

constexpr std::uint32_t longest_environment = 16U << 20;
constexpr char left_in_order = 'l';
// A process that runs already takes its place at once; one that is being started may have much to
// do before it calls MPI_Init.
constexpr std::chrono::seconds longest_wait_for_running{60}, longest_wait_for_started{600};
// The processes that join wait for their stand-ins, which a torus-run starts on each host.
constexpr int longest_wait_for_stand_in = 120'000;  // ms

bool read_all(int socket, void* data, std::size_t bytes) {
    auto* to = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t n = recv(socket, to, bytes, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        to += n;
        bytes -= std::size_t(n);
    }
    return true;
}

bool write_all(int socket, std::string_view data) {
    while (!data.empty()) {
        const ssize_t n = ::send(socket, data.data(), data.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        data.remove_prefix(std::size_t(n));
    }
    return true;
}

// The length of the environment, together with the two sockets.
struct Passed {
    std::uint32_t length = 0;
    int sockets[2] = {-1, -1};
};

bool send_passed(int to, const Passed& passed) {
    iovec part{const_cast<std::uint32_t*>(&passed.length), sizeof passed.length};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof passed.sockets)]{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof passed.sockets);
    std::memcpy(CMSG_DATA(header), passed.sockets, sizeof passed.sockets);
    return sendmsg(to, &message, MSG_NOSIGNAL) == ssize_t(sizeof passed.length);
}

bool receive_passed(int from, Passed& passed) {
    iovec part{&passed.length, sizeof passed.length};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof passed.sockets)]{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(from, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL) != ssize_t(sizeof passed.length))
        return false;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(sizeof passed.sockets))
        return false;
    std::memcpy(passed.sockets, CMSG_DATA(header), sizeof passed.sockets);
    return passed.length <= longest_environment;
}

}  // namespace

Seat::Seat(const std::string& name) : listener_(listen_as(name, 8, SOCK_NONBLOCK)) {
    if (!listener_)
        throw BootstrapError(
            fmt::format("cannot listen for a place in a joined job: {}", std::strerror(errno)));
}

void Seat::take() {
    do {
        pollfd watched{listener_.get(), POLLIN, 0};
        const int ready = poll(&watched, 1, longest_wait_for_stand_in);
        if (ready < 0) continue;
        if (ready == 0)
            throw BootstrapError(fmt::format(
                "no place in the joined job: its torus-run has not offered one within {} s",
                longest_wait_for_stand_in / 1000));
        base::Descriptor caller(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        const std::lock_guard lock(mutex_);
        if (cancelled_) throw BootstrapError("no place in the joined job: it was given up");
        // A stranger gets no answer, and the stand-in does not wait for it.
        if (!caller || !is_same_user(caller)) continue;
        const timeval patience{5, 0};
        setsockopt(caller.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        stand_in_ = std::move(caller);
    } while (!receive());
    const std::lock_guard lock(mutex_);
    listener_.reset();
}

bool Seat::receive() {
    Passed passed;
    if (!stand_in_ || !receive_passed(stand_in_.get(), passed)) return false;
    std::string all(passed.length, '\0');
    if (!read_all(stand_in_.get(), all.data(), all.size())) {
        for (const int socket : passed.sockets) ::close(socket);
        return false;
    }
    socket_ = passed.sockets[0];
    notices_ = passed.sockets[1];
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = std::min(all.find('\0', at), all.size());
        environment_.push_back(all.substr(at, end - at));
        at = end + 1;
    }
    return true;
}

void Seat::cancel() noexcept {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (listener_) ::shutdown(listener_.get(), SHUT_RDWR);
    if (stand_in_) ::shutdown(stand_in_.get(), SHUT_RDWR);
}

void Seat::leave() noexcept {
    if (stand_in_) write_all(stand_in_.get(), {&left_in_order, 1});
    stand_in_.reset();
}

int stand_in(const std::string& name, bool runs) {
    const char* const given = std::getenv(env_bootstrap);
    Passed passed;
    if (given == nullptr ||
        std::sscanf(given, "%d:%*u:%d:", &passed.sockets[0], &passed.sockets[1]) != 2) {
        fmt::print(stderr, "{} is not set: torus-run starts this program\n", env_bootstrap);
        return 2;
    }
    std::string environment;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (std::string_view(*entry).starts_with("TORUSMP_SETTINGS"))
            environment.append(*entry).push_back('\0');
    passed.length = std::uint32_t(environment.size());
    const auto until = std::chrono::steady_clock::now() +
                       (runs ? longest_wait_for_running : longest_wait_for_started);
    base::Descriptor seat;
    for (auto rest = std::chrono::milliseconds(1); !(seat = connect_to(name));
         rest = std::min(2 * rest, std::chrono::milliseconds(20))) {
        if (std::chrono::steady_clock::now() > until) return 1;
        std::this_thread::sleep_for(rest);
    }
    if (!is_same_user(seat) || !send_passed(seat.get(), passed) ||
        !write_all(seat.get(), environment))
        return 1;
    for (const int socket : passed.sockets) ::close(socket);
    char word = 0;
    if (read_all(seat.get(), &word, 1) && word == left_in_order) return 0;
    // torus-run has seen the end of the process itself, and says so; but not if the process had not
    // connected yet.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    return 1;
}

}  // namespace torusmp::launch

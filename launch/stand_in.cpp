// SPDX-License-Identifier: BSD-3-Clause
#include "launch/stand_in.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "base/passing.h"
#include "launch/bootstrap.h"
#include "launch/environment.h"
#include "launch/implementations.h"
#include "launch/meeting_socket.h"

namespace torusmp::launch {
namespace {

constexpr std::uint32_t longest_environment = 16U << 20;
constexpr char left_in_order = 'l';
// A process that runs already takes its place immediately; one that is being started may have much
// to do before it calls MPI_Init.
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

}  // namespace

// In a build tree all programs are in one folder.
std::string stand_in_path(const std::string& torus_run) {
    const std::filesystem::path folder = std::filesystem::path(torus_run).parent_path();
    const char* const name = "torus-stand-in";
    if (access((folder / name).c_str(), X_OK) == 0) return (folder / name).string();
    return (folder / TORUSMP_HELPERS_FROM_PROGRAMS / name).lexically_normal().string();
}

Seat::Seat(const std::string& name) : listener_(listen_as(name, 8, SOCK_NONBLOCK)) {
    if (!listener_)
        throw BootstrapError(fmt::format("cannot listen for the torus-run of the joined job: {}",
                                         std::strerror(errno)));
}

void Seat::take() {
    do {
        pollfd watched{listener_.get(), POLLIN, 0};
        const int ready = poll(&watched, 1, longest_wait_for_stand_in);
        if (ready < 0) continue;
        if (ready == 0)
            throw BootstrapError(
                fmt::format("cannot join the job: its torus-run has not offered a rank within {} s",
                            longest_wait_for_stand_in / 1000));
        base::Descriptor caller(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        const std::lock_guard lock(mutex_);
        if (cancelled_) throw BootstrapError("cannot join the job: it was abandoned");
        // A stranger gets no answer, and the stand-in does not wait for it.
        if (!caller || !is_same_user(caller)) continue;
        const timeval time_limit{5, 0};
        setsockopt(caller.get(), SOL_SOCKET, SO_RCVTIMEO, &time_limit, sizeof time_limit);
        stand_in_ = std::move(caller);
    } while (!receive());
    const std::lock_guard lock(mutex_);
    listener_.reset();
}

bool Seat::receive() {
    std::uint32_t length = 0;  // of the environment
    if (!stand_in_) return false;
    auto passed = base::take_passed(stand_in_.get(), std::as_writable_bytes(std::span(&length, 1)));
    if (!passed || passed->size() != 2 || length > longest_environment) return false;
    std::string all(length, '\0');
    if (!read_all(stand_in_.get(), all.data(), all.size())) return false;
    socket_ = std::move(passed->front());
    notices_ = std::move(passed->back());
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = std::min(all.find('\0', at), all.size());
        environment_.push_back(all.substr(at, end - at));
        at = end + 1;
    }
    return true;
}

std::unique_ptr<Bootstrap> Seat::connect() {
    {
        const std::lock_guard lock(mutex_);
        if (cancelled_) throw BootstrapError("cannot join the job: it was abandoned");
        connection_ = base::Descriptor(fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
    }
    return connect_passed(std::move(socket_), std::move(notices_));
}

void Seat::cancel() noexcept {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (listener_) ::shutdown(listener_.get(), SHUT_RDWR);
    if (stand_in_) ::shutdown(stand_in_.get(), SHUT_RDWR);
    if (connection_) ::shutdown(connection_.get(), SHUT_RDWR);
}

void Seat::leave() noexcept {
    if (stand_in_) send_all(stand_in_, {&left_in_order, 1});
    stand_in_.reset();
}

int stand_in(const std::string& name, bool runs) {
    const char* const given = std::getenv(env_bootstrap);
    std::array<int, 2> sockets{-1, -1};
    if (given == nullptr || std::sscanf(given, "%d:%*u:%d:", &sockets[0], &sockets[1]) != 2) {
        fmt::print(stderr, "{} is not set: torus-run starts this program\n", env_bootstrap);
        return 2;
    }
    std::string environment;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (std::string_view(*entry).starts_with("TORUSMP_SETTINGS"))
            environment.append(*entry).push_back('\0');
    const auto length = std::uint32_t(environment.size());
    const auto until = std::chrono::steady_clock::now() +
                       (runs ? longest_wait_for_running : longest_wait_for_started);
    base::Descriptor seat;
    for (auto rest = std::chrono::milliseconds(1); !(seat = connect_to(name));
         rest = std::min(2 * rest, std::chrono::milliseconds(20))) {
        if (std::chrono::steady_clock::now() > until) return 1;
        std::this_thread::sleep_for(rest);
    }
    if (!is_same_user(seat) ||
        !base::pass(seat.get(), std::as_bytes(std::span(&length, 1)), sockets) ||
        !send_all(seat, environment))
        return 1;
    for (const int socket : sockets) ::close(socket);
    char word = 0;
    if (read_all(seat.get(), &word, 1) && word == left_in_order) return 0;
    // torus-run has seen the end of the process itself, and reports it; but not if the process had
    // not connected yet.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    return 1;
}

}  // namespace torusmp::launch

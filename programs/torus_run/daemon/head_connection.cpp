// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/head_connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "programs/torus_run/streams/link.h"

namespace torusmp::torus_run {
namespace {

Channel greet(base::Descriptor input, base::Descriptor output) {
    const std::string words = greeting();
    for (std::size_t done = 0; done < words.size();) {
        const ssize_t n = write(output.get(), words.data() + done, words.size() - done);
        if (n < 0 && errno != EINTR)
            throw std::runtime_error(
                fmt::format("no reader at its standard output: {}; torus-run --daemon is started "
                            "only by torus-run",
                            std::strerror(errno)));
        if (n > 0) done += std::size_t(n);
    }
    for (const base::Descriptor* end : {&input, &output})
        fcntl(end->get(), F_SETFL, fcntl(end->get(), F_GETFL) | O_NONBLOCK);
    return {std::move(input), std::move(output)};
}

// Moves the pipes of the agent to private descriptors: ranks must not inherit them, and nothing may
// print to them.
Channel take_over_standard_streams() {
    base::Descriptor input(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    base::Descriptor output(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!input || !output)
        throw std::runtime_error(fmt::format("dup of standard input: {}", std::strerror(errno)));
    const base::Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
    dup2(null.get(), STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return greet(std::move(input), std::move(output));
}

}  // namespace

HeadConnection::HeadConnection(Loop& loop, std::function<void()> heard)
    : loop_(loop), heard_(std::move(heard)), channel_(take_over_standard_streams()) {
    watch();
}

void HeadConnection::join(base::Descriptor input, base::Descriptor output) {
    close();
    channel_ = greet(std::move(input), std::move(output));
    watch();
}

void HeadConnection::watch() {
    loop_.watch(channel_.fd(), EPOLLIN, [this](auto) { heard_(); });
    loop_.watch(channel_.output_fd(), EPOLLONESHOT, [this](auto) { send_rest(); });
}

void HeadConnection::close() {
    if (!open()) return;
    loop_.forget(channel_.fd());
    loop_.forget(channel_.output_fd());
    channel_.close();
}

void HeadConnection::send(launch::FrameHeader header, SharedBytes bytes) {
    if (!open()) return;
    channel_.send(header, std::move(bytes));
    if (channel_.has_unsent()) loop_.change(channel_.output_fd(), EPOLLOUT);
}

void HeadConnection::send_rest() {
    channel_.flush();
    loop_.change(channel_.output_fd(),
                 channel_.has_unsent() ? std::uint32_t(EPOLLOUT) : std::uint32_t(EPOLLONESHOT));
}

}  // namespace torusmp::torus_run

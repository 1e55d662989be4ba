// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/streams/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/descriptor.h"

namespace torusmp::torus_run {
namespace {

constexpr std::size_t window = 65536;

}  // namespace

InputSource::InputSource(Loop& loop, int fd, std::function<void(std::vector<std::byte>)> send)
    : loop_(loop), fd_(fd), send_(std::move(send)) {}

void InputSource::start() {
    pollable_ = loop_.watch(fd_, EPOLLIN, [this](auto) { read_some(); });
    if (!pollable_) read_some();
}

// The descriptor is shared and may block, so read once, and only if data is available.
bool InputSource::readable() const {
    pollfd ready{fd_, POLLIN, 0};
    return poll(&ready, 1, 0) > 0;
}

void InputSource::read_some() {
    while (fd_ >= 0 && on_the_way_ < window && readable()) {
        std::vector<std::byte> bytes(16384);
        const ssize_t n = read(fd_, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        bytes.resize(n > 0 ? std::size_t(n) : 0);
        on_the_way_ += bytes.size();
        const bool end = bytes.empty();
        send_(std::move(bytes));
        if (end) return close();
    }
    if (fd_ >= 0 && pollable_)
        loop_.change(fd_,
                     on_the_way_ < window ? std::uint32_t(EPOLLIN) : std::uint32_t(EPOLLONESHOT));
}

void InputSource::taken(std::size_t bytes) {
    on_the_way_ -= std::min(bytes, on_the_way_);
    read_some();
}

void InputSource::close() {
    if (fd_ < 0) return;
    loop_.forget(fd_);
    // The writer must notice that the reader is gone. Because this is standard input, another file
    // takes over the descriptor.
    const base::Descriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (null) dup3(null.get(), fd_, fd_ > STDERR_FILENO ? O_CLOEXEC : 0);
    fd_ = -1;
}

InputSink::InputSink(Loop& loop, Listener& listener) : loop_(loop), listener_(listener) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw std::runtime_error(
            fmt::format("pipe for the input of rank 0: {}", std::strerror(errno)));
    read_end_ = base::Descriptor(ends[0]);
    write_end_ = base::Descriptor(ends[1]);
    fcntl(write_end_.get(), F_SETFL, O_NONBLOCK);
    loop_.watch(write_end_.get(), EPOLLONESHOT, [this](auto) { write_some(); });
}

void InputSink::take(std::span<const std::byte> bytes) {
    if (bytes.empty()) last_ = true;
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    write_some();
}

void InputSink::write_some() {
    while (write_end_ && !waiting_.empty()) {
        const ssize_t n = write(write_end_.get(), waiting_.data(), waiting_.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return loop_.change(write_end_.get(), EPOLLOUT);
        if (n < 0) {
            close();
            return listener_.input_closed();
        }
        waiting_.erase(waiting_.begin(), waiting_.begin() + n);
        listener_.input_taken(std::size_t(n));
    }
    if (last_) return close();
    if (!write_end_) return;
    pollfd reader{write_end_.get(), 0, 0};
    if (poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) != 0) {
        close();
        return listener_.input_closed();
    }
    loop_.change(write_end_.get(), EPOLLONESHOT);
}

void InputSink::close() {
    if (!write_end_) return;
    loop_.forget(write_end_.get());
    write_end_.reset();
    waiting_.clear();
}

}  // namespace torusmp::torus_run

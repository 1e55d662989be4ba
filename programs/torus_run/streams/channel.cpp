// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/streams/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace torusmp::torus_run {

Channel::Channel(base::Descriptor socket)
    : input_(std::move(socket)), longest_(launch::max_frame_bytes) {
    const int yes = 1;
    setsockopt(fd(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
}

Channel::Channel(base::Descriptor input, base::Descriptor output)
    : input_(std::move(input)), output_(std::move(output)), longest_(max_daemon_frame_bytes) {}

ssize_t Channel::take(std::byte* piece, std::size_t bytes) {
    if (output_) return read(fd(), piece, bytes);
    iovec part{piece, bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = recvmsg(fd(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const cmsghdr* header = n > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (header && header->cmsg_type == SCM_CREDENTIALS) {
        ucred who;
        std::memcpy(&who, CMSG_DATA(header), sizeof who);
        sender_ = who.pid;
    }
    return n;
}

bool Channel::receive() {
    std::byte piece[16384];
    while (open()) {
        const ssize_t n = take(piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return true;
        if (n <= 0) return false;
        incoming_.insert(incoming_.end(), piece, piece + n);
    }
    return false;
}

bool Channel::next(Frame& frame) {
    const std::size_t available = incoming_.size() - consumed_;
    launch::FrameHeader header;
    const bool whole_header = !damaged_ && available >= sizeof header;
    if (whole_header) std::memcpy(&header, incoming_.data() + consumed_, sizeof header);
    if (whole_header && header.length > longest_) damaged_ = true;
    if (!whole_header || damaged_ || available - sizeof header < header.length) {
        // After many small frames the start of the buffer is consumed: release it.
        incoming_.erase(incoming_.begin(), incoming_.begin() + std::ptrdiff_t(consumed_));
        consumed_ = 0;
        return false;
    }
    const auto begin = incoming_.begin() + std::ptrdiff_t(consumed_ + sizeof header);
    frame.header = header;
    frame.sender = sender_;
    frame.body.assign(begin, begin + std::ptrdiff_t(header.length));
    consumed_ += sizeof header + header.length;
    return true;
}

void Channel::send(launch::FrameHeader header, SharedBytes bytes) {
    if (!open()) return;
    header.length = bytes ? bytes->size() : 0;
    unsent_.push_back({header, std::move(bytes)});
    flush();
}

ssize_t Channel::give(iovec* parts, int count) const {
    if (output_) return writev(output_fd(), parts, count);
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = std::size_t(count);
    return sendmsg(fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Channel::flush() {
    while (open() && !unsent_.empty()) {
        Unsent& first = unsent_.front();
        const std::size_t total = sizeof first.header + first.header.length;
        iovec parts[2];
        int count = 0;
        if (first.done < sizeof first.header)
            parts[count++] = {reinterpret_cast<std::byte*>(&first.header) + first.done,
                              sizeof first.header - first.done};
        const std::size_t body_done = first.done - std::min(first.done, sizeof first.header);
        if (first.header.length > body_done)
            parts[count++] = {const_cast<std::byte*>(first.bytes->data()) + body_done,
                              first.header.length - body_done};
        const ssize_t n = give(parts, count);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) {  // the peer is gone; reading reports why
            unsent_.clear();
            return;
        }
        first.done += std::size_t(n);
        if (first.done == total) unsent_.pop_front();
    }
}

}  // namespace torusmp::torus_run

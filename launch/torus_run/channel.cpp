#include "launch/torus_run/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace torusmp::launch {

Channel::Channel(Descriptor socket) : socket_(std::move(socket)) {
    const int yes = 1;
    setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
}

bool Channel::receive() {
    std::byte piece[16384];
    while (open()) {
        iovec part{piece, sizeof piece};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const ssize_t n = recvmsg(fd(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return true;
        if (n <= 0) return false;
        if (const cmsghdr* header = CMSG_FIRSTHDR(&message);
            header && header->cmsg_type == SCM_CREDENTIALS) {
            ucred who;
            std::memcpy(&who, CMSG_DATA(header), sizeof who);
            sender_ = who.pid;
        }
        input_.insert(input_.end(), piece, piece + n);
    }
    return false;
}

bool Channel::next(Frame& frame) {
    const std::size_t available = input_.size() - consumed_;
    if (damaged_ || available < sizeof(FrameHeader)) return false;
    FrameHeader header;
    std::memcpy(&header, input_.data() + consumed_, sizeof header);
    if (header.length > max_frame_bytes) {
        damaged_ = true;
        return false;
    }
    if (available - sizeof header < header.length) return false;
    const auto begin = input_.begin() + std::ptrdiff_t(consumed_ + sizeof header);
    frame.header = header;
    frame.sender = sender_;
    frame.body.assign(begin, begin + std::ptrdiff_t(header.length));
    consumed_ += sizeof header + header.length;
    if (consumed_ == input_.size()) {
        input_.clear();
        consumed_ = 0;
    }
    return true;
}

void Channel::send(FrameHeader header, SharedBytes bytes) {
    if (!open()) return;
    header.length = bytes ? bytes->size() : 0;
    unsent_.push_back({header, std::move(bytes)});
    flush();
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
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = std::size_t(count);
        const ssize_t n = sendmsg(fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) {  // the rank is gone; its exit tells the rest
            unsent_.clear();
            return;
        }
        first.done += std::size_t(n);
        if (first.done == total) unsent_.pop_front();
    }
}

}  // namespace torusmp::launch

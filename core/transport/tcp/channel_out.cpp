// SPDX-License-Identifier: BSD-3-Clause
// The sending side of a TCP channel.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/assert.h"
#include "core/transport/common/crc32c.h"
#include "core/transport/tcp/channel.h"
#include "core/transport/tcp/interface.h"

namespace torusmp::transport::tcp {
namespace {

// From this size on, a payload is worth a system call of its own, which costs less than a copy.
constexpr std::size_t worth_a_call = 4096;
constexpr std::size_t most_queued = 64u << 10;  // bytes of small frames that wait for others
// Up to this size a copy costs less than the kernel's extra time for a list of parts.
constexpr std::size_t most_joined = 256;

// Makes one system call for all parts.
ssize_t give(int socket, Parts& parts) {
    constexpr int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    const std::span<iovec> list = parts.list();
    if (list.size() == 1) return ::send(socket, list[0].iov_base, parts.bytes(), flags);
    if (parts.bytes() <= most_joined) {
        std::array<std::byte, most_joined> whole;
        std::size_t at = 0;
        for (const iovec& part : list) {
            std::memcpy(whole.data() + at, part.iov_base, part.iov_len);
            at += part.iov_len;
        }
        return ::send(socket, whole.data(), at, flags);
    }
    msghdr message{};
    message.msg_iov = list.data();
    message.msg_iovlen = list.size();
    return sendmsg(socket, &message, flags);
}

}  // namespace

std::size_t TcpChannel::head_bytes() const {
    return tcp::head_bytes(interface_.options().checksum);
}

FrameHead TcpChannel::head_of(const PacketHeader& header, ConstBytes front,
                              ConstBytes payload) const {
    FrameHead head{header, 0};
    if (interface_.options().checksum) {
        // A relayed packet carries the checksum that its source made.
        if (head.header.stamp == 0) head.header.stamp = checksum_of(head.header, front, payload);
        head.checksum = checksum_of(head.header);
    }
    return head;
}

// Small packets of one poll go out together at its end.
bool TcpChannel::sends_at_once(std::size_t bytes) {
    if (blocked_ || corked_ || state_ != State::open) return false;
    if (bytes >= worth_a_call) return true;
    return !interface_.polling() && burst_.leaves_at_once(interface_.turn());
}

void TcpChannel::send(const PacketHeader& header, ConstBytes payload) {
    send_parts(header, {}, payload);
}

void TcpChannel::send_parts(const PacketHeader& header, ConstBytes front, ConstBytes payload) {
    if (state_ >= State::finished) return;
    PacketHeader framed = header;
    framed.transport_byte = std::uint8_t(Frame::packet);
    send_frame(framed, front, payload);
}

void TcpChannel::send_frame(const PacketHeader& header, ConstBytes front, ConstBytes payload) {
    if (sends_at_once(front.size() + payload.size())) [[likely]]
        return send_gathered(head_of(header, front, payload), front, payload);
    corked_ = false;
    queue_frame(header, front, payload);
}

void TcpChannel::queue_frame(const PacketHeader& header, ConstBytes front, ConstBytes payload) {
    const FrameHead head = head_of(header, front, payload);
    out_.push(std::as_bytes(std::span(&head, 1)).first(head_bytes()));
    out_.push(front);
    out_.push(payload);
    if (out_.size() >= most_queued && !blocked_ && state_ == State::open)
        flush();
    else if (!dirty_ && !blocked_ && state_ == State::open) {
        dirty_ = true;
        interface_.on_queued(*this);
    }
}

// Sends the parts in place: one call takes the queue and the parts, and what the socket does not
// accept is queued in order.
void TcpChannel::send_gathered(const FrameHead& head, ConstBytes front, ConstBytes payload) {
    const std::array<ConstBytes, 3> frame{std::as_bytes(std::span(&head, 1)).first(head_bytes()),
                                          front, payload};
    Parts parts;
    parts.add(out_.front(), out_.size());
    for (const ConstBytes& part : frame) parts.add(part.data(), part.size());
    const ssize_t sent = give(socket_.get(), parts);
    std::size_t taken = sent > 0 ? std::size_t(sent) : 0;
    if (taken == parts.bytes()) [[likely]]
        return out_.clear();
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        return fail(fmt::format("sending failed: {}", std::strerror(errno)));
    const std::size_t from_queue = std::min(taken, out_.size());
    out_.pop(from_queue);
    taken -= from_queue;
    for (const ConstBytes& part : frame) {
        const std::size_t gone = std::min(taken, part.size());
        out_.push(part.subspan(gone));
        taken -= gone;
    }
    set_blocked(true);
}

void TcpChannel::send_note(ConstBytes front, ConstBytes rest) {
    if (is_over()) return;
    const ControlFrame note{.length = std::uint32_t(front.size() + rest.size()),
                            .frame = Frame::note};
    queue_frame(as_header(note), front, rest);
}

std::byte* TcpChannel::reserve(int /*virtual_channel*/, std::size_t /*bytes*/) {
    return reserved_.get();
}

void TcpChannel::commit(const PacketHeader& header) {
    send(header, {reserved_.get(), header.length});
}

void TcpChannel::grant(CreditWord credits) {
    if (state_ >= State::finished) return;
    send_frame(as_header(ControlFrame{.credits = credits, .frame = Frame::grant}), {}, {});
}

bool TcpChannel::can_write(const RemoteMemory& remote) const {
    return can_ever_write(remote) && state_ < State::finished;
}

Transfer TcpChannel::write(const RemoteMemory& remote, std::size_t offset,
                           std::span<const ConstBytes> local, std::uint64_t cookie,
                           std::optional<std::uint64_t> notice) {
    corked_ = false;
    if (local.empty() || local.size() > most_gathered) return Transfer::refused;
    WriteQueue::Write write{remote.as<MemoryId>(), offset, local[0], cookie, notice, {}};
    write.behind.assign(local.begin() + 1, local.end());
    const std::size_t bytes = write.bytes();
    if (!can_write(remote) || offset > remote.length || bytes > remote.length - offset)
        return Transfer::refused;
    if (bytes == 0 && !notice) return Transfer::done;
    writes_.push(std::move(write));
    if (state_ == State::open && !blocked_) flush();
    // If it has been sent already, its end was the last to be recorded.
    if (state_ == State::open && writes_.empty() && interface_.take_back_end(*this))
        return Transfer::done;
    return Transfer::pending;
}

void TcpChannel::close(std::string_view why) {
    closed_by_core();
    if (state_ >= State::finished) return;
    if (state_ == State::open) {
        const auto reason = std::as_bytes(std::span(why.substr(0, longest_reason)));
        const ControlFrame closed{.length = std::uint32_t(reason.size()), .frame = Frame::closed};
        // A write of which a piece is half sent can no longer be finished, nor can anything after
        // it.
        if (!writes_.inside_piece()) {
            writes_.clear();
            queue_frame(as_header(closed), {}, reason);
            flush();
        }
    }
    if (state_ < State::finished) fail(std::string(why));
}

// Makes one system call: the rest of the current piece, then the queue, then the next pieces.
// Returns false if nothing is left, or the socket took less than it was given.
bool TcpChannel::flush_some() {
    Parts parts;
    writes_.add_rest(parts);
    const std::size_t rest = parts.bytes();
    parts.add(out_.front(), out_.size());
    writes_.add_pieces(parts);
    if (parts.empty()) return false;
    const ssize_t sent = give(socket_.get(), parts);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        fail(fmt::format("sending failed: {}", std::strerror(errno)));
        return false;
    }
    std::size_t taken = sent > 0 ? std::size_t(sent) : 0;
    full_ = taken != parts.bytes();
    const auto take = [&](std::size_t most) {
        const std::size_t part = std::min(taken, most);
        taken -= part;
        return part;
    };
    const auto finished = [&](std::uint64_t cookie) {
        interface_.on_write_end(*this, cookie, true);
    };
    writes_.sent_rest(take(rest), finished);
    out_.pop(take(out_.size()));
    writes_.sent_pieces(taken, finished);
    return !full_;
}

void TcpChannel::flush() {
    if (state_ != State::open) return;
    full_ = false;
    while (flush_some()) {
    }
    if (state_ == State::open) set_blocked(full_);
}

void TcpChannel::set_blocked(bool blocked) {
    if (blocked_ == blocked) return;
    blocked_ = blocked;
    interface_.on_blocked(*this, socket_ ? socket_.get() : -1, blocked_);
}

void TcpChannel::flush_queued() {
    dirty_ = false;
    if (!blocked_) flush();
}

}  // namespace torusmp::transport::tcp

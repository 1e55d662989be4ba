// SPDX-License-Identifier: BSD-3-Clause
// What a TCP channel sends.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "core/transport/common/crc32c.h"
#include "core/transport/tcp/channel.h"
#include "core/transport/tcp/interface.h"

namespace torusmp::transport::tcp {
namespace {

// From this size on a payload is worth a system call of its own rather than a copy.
constexpr std::size_t worth_a_call = 4096;
constexpr std::size_t most_queued = 64u << 10;  // bytes of small frames that wait for company
// Up to this size a copy costs less than what the kernel takes longer over a list of parts.
constexpr std::size_t most_joined = 256;

// One system call for all parts, of so many bytes together.
ssize_t give(int socket, std::span<iovec> parts, std::size_t bytes) {
    constexpr int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    if (parts.size() == 1) return ::send(socket, parts[0].iov_base, bytes, flags);
    if (bytes <= most_joined) {
        std::array<std::byte, most_joined> whole;
        std::size_t at = 0;
        for (const iovec& part : parts) {
            std::memcpy(whole.data() + at, part.iov_base, part.iov_len);
            at += part.iov_len;
        }
        return ::send(socket, whole.data(), bytes, flags);
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    return sendmsg(socket, &message, flags);
}

}  // namespace

std::size_t TcpChannel::head_bytes() const {
    return interface_.options_.checksum ? sizeof(PacketHeader) + sizeof(std::uint32_t)
                                        : sizeof(PacketHeader);
}

TcpChannel::FrameHead TcpChannel::head_of(const PacketHeader& header, ConstBytes front,
                                          ConstBytes payload) const {
    FrameHead head{header, 0};
    if (interface_.options_.checksum) {
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
    return !interface_.polling_ && burst_.leaves_at_once(interface_.turn_);
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
    else
        interface_.make_dirty(*this);
}

// Sends the parts from where they lie: one call takes the queue and the parts, and what the socket
// does not take is queued in order.
void TcpChannel::send_gathered(const FrameHead& head, ConstBytes front, ConstBytes payload) {
    const std::array<ConstBytes, 3> frame{std::as_bytes(std::span(&head, 1)).first(head_bytes()),
                                          front, payload};
    std::array<iovec, 1 + frame.size()> parts;
    std::size_t count = 0;
    std::size_t bytes = 0;
    const auto add = [&](const std::byte* from, std::size_t size) {
        if (size == 0) return;
        parts[count++] = {const_cast<std::byte*>(from), size};
        bytes += size;
    };
    add(out_.front(), out_.size());
    for (const ConstBytes& part : frame) add(part.data(), part.size());
    const ssize_t sent = give(socket_.get(), {parts.data(), count}, bytes);
    std::size_t taken = sent > 0 ? std::size_t(sent) : 0;
    if (taken == bytes) [[likely]]
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
    return could_write(remote) && state_ < State::finished;
}

std::size_t TcpChannel::Write::bytes() const {
    std::size_t sum = left.size();
    for (std::size_t i = next; i < behind.size(); ++i) sum += behind[i].size();
    return sum;
}

void TcpChannel::Write::advance(std::size_t bytes) {
    offset += bytes;
    while (bytes >= left.size() && next < behind.size()) {
        bytes -= left.size();
        left = behind[next++];
    }
    left = left.subspan(bytes);
}

template <class Visit>
void TcpChannel::Write::stretches(std::size_t skip, std::size_t bytes, Visit&& visit) const {
    ConstBytes stretch = left;
    for (std::size_t i = next; bytes != 0; ++i) {
        const std::size_t over = std::min(skip, stretch.size());
        const std::size_t part = std::min(stretch.size() - over, bytes);
        if (part != 0) visit(stretch.data() + over, part);
        skip -= over;
        bytes -= part;
        if (bytes != 0) stretch = behind[i];
    }
}

Transfer TcpChannel::write(const RemoteMemory& remote, std::size_t offset,
                           std::span<const ConstBytes> local, std::uint64_t cookie,
                           std::optional<std::uint64_t> notice) {
    corked_ = false;
    if (local.empty() || local.size() > most_gathered) return Transfer::refused;
    Write write{remote.as<MemoryId>(), offset, local[0], cookie, notice, {}};
    write.behind.assign(local.begin() + 1, local.end());
    const std::size_t bytes = write.bytes();
    if (!can_write(remote) || offset > remote.length || bytes > remote.length - offset)
        return Transfer::refused;
    if (bytes == 0 && !notice) return Transfer::done;
    writes_.push_back(std::move(write));
    if (state_ == State::open && !blocked_) flush();
    // It is out already, and so it was the last to be noted.
    auto& transfers = interface_.transfers_;
    if (state_ == State::open && writes_.empty() && !transfers.empty() &&
        transfers.back().channel == this) {
        transfers.pop_back();
        return Transfer::done;
    }
    return Transfer::pending;
}

void TcpChannel::close(std::string_view why) {
    closed_by_core();
    if (state_ >= State::finished) return;
    if (state_ == State::open) {
        const auto reason = std::as_bytes(std::span(why.substr(0, longest_reason)));
        const ControlFrame closed{.length = std::uint32_t(reason.size()), .frame = Frame::closed};
        // A write of which a piece is half sent cannot be finished any more, nor anything behind
        // it.
        if (!piece_begun_) {
            writes_.clear();
            first_write_ = 0;
            queue_frame(as_header(closed), {}, reason);
            flush();
        }
    }
    if (state_ < State::finished) fail(std::string(why));
}

// Begins the next piece of the first write.
void TcpChannel::next_piece() {
    const Write& write = writes_[first_write_];
    const std::size_t left = write.bytes();
    piece_bytes_ = std::min(left, write_piece);
    WriteFrame piece{.length = std::uint32_t(piece_bytes_),
                     .offset = write.offset,
                     .generation = std::uint32_t(write.memory >> 32),
                     .index = std::uint32_t(write.memory)};
    if (write.notice && piece_bytes_ == left) {
        piece.notifies = 1;
        piece.notice = *write.notice;
    }
    if (interface_.options_.checksum)
        write.stretches(0, piece_bytes_, [&](const std::byte* from, std::size_t bytes) {
            piece.checksum = crc32c(from, bytes, piece.checksum);
        });
    piece_head_ = {as_header(piece), 0};
    if (interface_.options_.checksum) piece_head_.checksum = checksum_of(piece_head_.header);
    piece_sent_ = 0;
    piece_begun_ = true;
}

// `bytes` more of the piece have been sent.
void TcpChannel::piece_out(std::size_t bytes) {
    piece_sent_ += bytes;
    if (piece_sent_ < head_bytes() + piece_bytes_) return;
    Write& write = writes_[first_write_];
    write.advance(piece_bytes_);
    piece_begun_ = false;
    if (!write.left.empty()) return;
    interface_.transfers_.push_back({this, write.cookie, true});
    if (++first_write_ == writes_.size()) {
        writes_.clear();
        first_write_ = 0;
    }
}

// Makes one system call: the rest of the current piece, then the queue, then the next piece. False:
// nothing is left, or the socket took less than it was offered.
bool TcpChannel::flush_some() {
    std::array<iovec, 3 + most_gathered> parts;
    std::size_t count = 0;
    const auto add = [&](const void* from, std::size_t bytes) {
        if (bytes != 0) parts[count++] = {const_cast<void*>(from), bytes};
        return bytes;
    };
    const auto add_piece = [&] {
        const std::size_t head = std::min(piece_sent_, head_bytes());
        const std::size_t body = piece_sent_ - head;
        std::size_t bytes =
            add(reinterpret_cast<const std::byte*>(&piece_head_) + head, head_bytes() - head);
        writes_[first_write_].stretches(
            body, piece_bytes_ - body,
            [&](const std::byte* from, std::size_t stretch) { bytes += add(from, stretch); });
        return bytes;
    };
    const std::size_t old_piece = piece_begun_ ? add_piece() : 0;
    const std::size_t queued = add(out_.front(), out_.size());
    std::size_t new_piece = 0;
    if (old_piece == 0 && first_write_ < writes_.size()) {
        next_piece();
        new_piece = add_piece();
    }
    if (count == 0) return false;
    const std::size_t offered = old_piece + queued + new_piece;
    const ssize_t sent = give(socket_.get(), {parts.data(), count}, offered);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        fail(fmt::format("sending failed: {}", std::strerror(errno)));
        return false;
    }
    std::size_t taken = sent > 0 ? std::size_t(sent) : 0;
    const bool all = taken == offered;
    const auto take = [&](std::size_t most) {
        const std::size_t part = std::min(taken, most);
        taken -= part;
        return part;
    };
    if (old_piece != 0) piece_out(take(old_piece));
    out_.pop(take(queued));
    if (new_piece != 0) {
        const std::size_t part = take(new_piece);
        if (part != 0)
            piece_out(part);
        else
            piece_begun_ = false;  // the queue may still overtake it
    }
    full_ = !all;
    return all;
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
    interface_.channel_blocked(*this);
}

}  // namespace torusmp::transport::tcp

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
// Pieces of writes sent in one system call: in measurements, longer calls carried more.
constexpr std::size_t pieces_a_call = 4;

// Makes one system call for all parts; `bytes` is their sum.
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

// Sends the parts in place: one call takes the queue and the parts, and what the socket does not
// accept is queued in order.
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

std::size_t TcpChannel::Write::stretches_left() const {
    return 1 + behind.size() - next;
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
    // It has already been sent, so it was the last to be recorded.
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
        // A write of which a piece is half sent can no longer be finished, nor can anything after
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

// The piece that begins `skip` bytes into the rest of a write.
TcpChannel::Piece TcpChannel::piece_at(const Write& write, std::size_t skip) const {
    TORUSMP_ASSERT(skip <= write.bytes(), skip, write.bytes(), write.offset);
    const std::size_t left = write.bytes() - skip;
    const std::size_t bytes = std::min(left, write_piece);
    WriteFrame frame{.length = std::uint32_t(bytes),
                     .offset = write.offset + skip,
                     .generation = std::uint32_t(write.memory >> 32),
                     .index = std::uint32_t(write.memory)};
    if (write.notice && bytes == left) {
        frame.notifies = 1;
        frame.notice = *write.notice;
    }
    if (interface_.options_.checksum)
        write.stretches(skip, bytes, [&](const std::byte* from, std::size_t stretch) {
            frame.checksum = crc32c(from, stretch, frame.checksum);
        });
    Piece piece{{as_header(frame), 0}, bytes, 0};
    if (interface_.options_.checksum) piece.head.checksum = checksum_of(piece.head.header);
    return piece;
}

// `bytes` more of the piece have been sent.
void TcpChannel::piece_out(std::size_t bytes) {
    TORUSMP_ASSERT(piece_begun_ && first_write_ < writes_.size(), piece_begun_, first_write_,
                   writes_.size());
    piece_.sent += bytes;
    TORUSMP_ASSERT(piece_.sent <= head_bytes() + piece_.bytes, piece_.sent, piece_.bytes, bytes);
    if (piece_.sent < head_bytes() + piece_.bytes) return;
    Write& write = writes_[first_write_];
    write.advance(piece_.bytes);
    piece_begun_ = false;
    if (!write.left.empty()) return;
    interface_.transfers_.push_back({this, write.cookie, true});
    if (++first_write_ == writes_.size()) {
        writes_.clear();
        first_write_ = 0;
    }
}

// Makes one system call: the rest of the current piece, then the queue, then the next pieces.
// Returns false if nothing is left, or the socket took less than it was given.
bool TcpChannel::flush_some() {
    std::array<iovec, 3 + 2 * most_gathered> parts;
    std::size_t count = 0;
    std::size_t offered = 0;
    const auto add = [&](const void* from, std::size_t bytes) {
        if (bytes == 0) return;
        parts[count++] = {const_cast<void*>(from), bytes};
        offered += bytes;
    };
    const auto add_piece = [&](const Piece& piece, const Write& write, std::size_t skip) {
        const std::size_t head = std::min(piece.sent, head_bytes());
        const std::size_t body = piece.sent - head;
        add(reinterpret_cast<const std::byte*>(&piece.head) + head, head_bytes() - head);
        write.stretches(skip + body, piece.bytes - body, add);
    };
    std::size_t at = first_write_;  // of the next piece
    std::size_t skip = 0;
    const auto pass = [&](std::size_t bytes) {
        skip += bytes;
        if (skip != writes_[at].bytes()) return;
        ++at;
        skip = 0;
    };
    if (piece_begun_) {
        add_piece(piece_, writes_[at], 0);
        pass(piece_.bytes);
    }
    const std::size_t old_piece = offered;
    add(out_.front(), out_.size());
    std::array<Piece, pieces_a_call> pieces;
    // The checksum of a piece that the socket does not take would have to be computed again.
    const std::size_t most = interface_.options_.checksum ? 1 : pieces.size();
    std::size_t begun = 0;
    while (begun < most && at < writes_.size() &&
           count + 1 + writes_[at].stretches_left() <= parts.size()) {
        Piece& piece = pieces[begun++] = piece_at(writes_[at], skip);
        add_piece(piece, writes_[at], skip);
        pass(piece.bytes);
    }
    if (count == 0) return false;
    const ssize_t sent = give(socket_.get(), {parts.data(), count}, offered);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        fail(fmt::format("sending failed: {}", std::strerror(errno)));
        return false;
    }
    std::size_t taken = sent > 0 ? std::size_t(sent) : 0;
    full_ = taken != offered;
    const auto take = [&](std::size_t most_taken) {
        const std::size_t part = std::min(taken, most_taken);
        taken -= part;
        return part;
    };
    if (old_piece != 0) piece_out(take(old_piece));
    out_.pop(take(out_.size()));
    // The queue may still overtake what follows these bytes.
    for (std::size_t i = 0; i < begun && taken != 0; ++i) {
        piece_ = pieces[i];
        piece_begun_ = true;
        piece_out(take(head_bytes() + piece_.bytes));
    }
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
    interface_.channel_blocked(*this);
}

}  // namespace torusmp::transport::tcp

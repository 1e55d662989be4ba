#include "core/transport/tcp/channel.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/transport/tcp/interface.h"

namespace torusmp::transport::tcp {
namespace {

// Packets between two polls that go out one by one; what follows them waits for company.
constexpr unsigned most_singles = 4;
// From here on a payload is worth a system call of its own rather than a copy.
constexpr std::size_t worth_a_call = 4096;
constexpr std::size_t most_queued = 64u << 10;  // bytes of small frames that wait for company
constexpr std::size_t in_room = 256u << 10;
constexpr int reads_a_poll = 4;

}  // namespace

TcpChannel::TcpChannel(TcpInterface& interface, const PortOptions& port)
    : interface_(interface), port_(port) {
    in_bytes_ = std::max(in_room, 2 * (sizeof(FrameHead) + port.slot_bytes));
    in_ = std::make_unique_for_overwrite<std::byte[]>(in_bytes_);
    reserved_ =
        std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(port.slot_bytes, 1));
}

// ---- out ----

std::size_t TcpChannel::head_bytes() const {
    return interface_.options_.checksum ? sizeof(PacketHeader) + sizeof(std::uint32_t)
                                        : sizeof(PacketHeader);
}

TcpChannel::FrameHead TcpChannel::head_of(const PacketHeader& header,
                                          const std::byte* payload) const {
    FrameHead head{header, 0};
    if (interface_.options_.checksum) {
        // A relayed packet brings the checksum that its source made.
        if (head.header.stamp == 0) head.header.stamp = checksum_of(head.header, payload);
        head.checksum = checksum_of(head.header);
    }
    return head;
}

// Small packets of one poll go out together at its end, and so do those of a caller that sends
// many without polling: a system call costs more than their copy.
bool TcpChannel::sends_at_once(std::size_t bytes) const {
    if (blocked_ || corked_ || state_ != State::open) return false;
    if (bytes >= worth_a_call) return true;
    return !interface_.polling_ && burst_ <= most_singles;
}

void TcpChannel::send(const PacketHeader& header, ConstBytes payload) {
    if (state_ >= State::finished) return;
    PacketHeader framed = header;
    framed.place = std::uint8_t(Frame::packet);
    if (burst_turn_ != interface_.turn_) {
        burst_turn_ = interface_.turn_;
        burst_ = 0;
    }
    ++burst_;
    send_frame(framed, payload);
}

void TcpChannel::send_frame(const PacketHeader& header, ConstBytes payload) {
    if (sends_at_once(payload.size())) [[likely]]
        send_gathered(head_of(header, payload.data()), payload);
    else
        queue_frame(header, payload);
}

void TcpChannel::queue_frame(const PacketHeader& header, ConstBytes payload) {
    const FrameHead head = head_of(header, payload.data());
    out_.push(std::as_bytes(std::span(&head, 1)).first(head_bytes()));
    out_.push(payload);
    if (out_.size() >= most_queued && !blocked_ && state_ == State::open)
        flush();
    else
        interface_.make_dirty(*this);
}

void TcpChannel::send_gathered(const FrameHead& head, ConstBytes payload) {
    std::array<iovec, 3> parts{{{out_.front(), out_.size()},
                                {const_cast<FrameHead*>(&head), head_bytes()},
                                {const_cast<std::byte*>(payload.data()), payload.size()}}};
    const std::size_t skip = out_.empty() ? 1 : 0;
    msghdr message{};
    message.msg_iov = parts.data() + skip;
    message.msg_iovlen = parts.size() - skip - (payload.empty() ? 1 : 0);
    const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    std::size_t taken = sent > 0 ? std::size_t(sent) : 0;
    if (taken == out_.size() + head_bytes() + payload.size()) [[likely]]
        return out_.clear();
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        return fail(fmt::format("sending failed: {}", std::strerror(errno)));
    // What the socket left is queued in its order.
    const std::size_t from_queue = std::min(taken, out_.size());
    out_.pop(from_queue);
    taken -= from_queue;
    const auto head_part = std::as_bytes(std::span(&head, 1)).first(head_bytes());
    const std::size_t from_head = std::min(taken, head_part.size());
    out_.push(head_part.subspan(from_head));
    out_.push(payload.subspan(taken - from_head));
    set_blocked(true);
}

std::byte* TcpChannel::reserve(int /*slot_class*/, std::size_t /*bytes*/) {
    return reserved_.get();
}

void TcpChannel::commit(const PacketHeader& header) {
    send(header, {reserved_.get(), header.length});
}

void TcpChannel::grant(TokenWord tokens) {
    if (state_ >= State::finished) return;
    PacketHeader header{};
    header.place = std::uint8_t(Frame::grant);
    header.grants = tokens;
    send_frame(header, {});
}

bool TcpChannel::can_write(const RemoteMemory& remote) const {
    return remote.length != 0 && state_ < State::finished;
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

Transfer TcpChannel::start_write(Write write, const RemoteMemory& remote) {
    corked_ = false;
    const std::size_t bytes = write.bytes();
    if (!can_write(remote) || write.offset > remote.length || bytes > remote.length - write.offset)
        return Transfer::refused;
    if (bytes == 0 && !write.notifies) return Transfer::done;
    writes_.push_back(std::move(write));
    if (state_ == State::open && !blocked_) flush();
    // Out whole already: then it was the last to be noted.
    auto& transfers = interface_.transfers_;
    if (state_ == State::open && writes_.empty() && !transfers.empty() &&
        transfers.back().channel == this) {
        transfers.pop_back();
        return Transfer::done;
    }
    return Transfer::pending;
}

void TcpChannel::close(std::string_view why) {
    if (state_ >= State::finished) return;
    if (state_ == State::open) {
        PacketHeader header{};
        header.place = std::uint8_t(Frame::closed);
        const auto reason = std::as_bytes(std::span(why.substr(0, longest_reason)));
        header.length = std::uint32_t(reason.size());
        // A write that stands half way cannot be finished any more, nor anything behind it.
        if (!piece_begun_) {
            writes_.clear();
            first_write_ = 0;
            queue_frame(header, reason);
            flush();
        }
    }
    down_told_ = true;  // core closes it, so core knows
    if (state_ < State::finished) fail(std::string(why));
}

// Takes the next piece of the first write in hand.
void TcpChannel::next_piece() {
    const Write& write = writes_[first_write_];
    const std::size_t left = write.bytes();
    piece_bytes_ = std::min(left, write_piece);
    PacketHeader header{};
    header.place = std::uint8_t(Frame::write);
    header.length = std::uint32_t(piece_bytes_);
    header.context = std::uint32_t(write.memory);
    header.sequence = std::uint32_t(write.memory >> 32);
    header.grants = write.offset;
    if (write.notifies && piece_bytes_ == left) {
        header.kind = 1;
        header.source = std::uint32_t(write.notice);
        header.destination = std::uint32_t(write.notice >> 32);
    }
    // The offset is no grant here, and must be under the checksum: so it is summed as it stands.
    piece_head_ = {header, 0};
    if (interface_.options_.checksum) {
        std::uint32_t sum = 0;
        write.stretches(0, piece_bytes_, [&](const std::byte* from, std::size_t bytes) {
            sum = crc32c(from, bytes, sum);
        });
        piece_head_.header.stamp = sum;
        piece_head_.checksum = checksum_of(piece_head_.header);
    }
    piece_sent_ = 0;
    piece_begun_ = true;
}

// `bytes` more of the piece are out.
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

// One system call: the rest of the piece on its way, then the queue, then the next piece. False:
// nothing is left, or the socket took less than it was given.
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
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        fail(fmt::format("sending failed: {}", std::strerror(errno)));
        return false;
    }
    std::size_t taken = sent > 0 ? std::size_t(sent) : 0;
    const bool all = taken == old_piece + queued + new_piece;
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

// ---- in ----

int TcpChannel::receive(Sink& sink) {
    int taken = 0;
    corked_ = false;
    for (int i = 0; i < reads_a_poll && state_ == State::open; ++i) {
        const bool more = receive_some(sink);
        taken += parse(sink);
        if (!more) break;
    }
    return taken;
}

// One system call. True: there may be more.
bool TcpChannel::receive_some(Sink& sink) {
    if (in_begin_ == in_end_) in_begin_ = in_end_ = 0;
    // The longest frame that is parsed whole must fit behind in_begin_.
    if (in_begin_ != 0 && in_bytes_ - in_begin_ < sizeof(FrameHead) + port_.slot_bytes) {
        std::memmove(in_.get(), in_.get() + in_begin_, in_end_ - in_begin_);
        in_end_ -= in_begin_;
        in_begin_ = 0;
    }
    const std::size_t room = in_bytes_ - in_end_;
    Bytes memory;
    if (landing_left_ != 0) {
        const std::size_t done = landing_.header.length - landing_left_;
        memory = interface_.exposures_.find(
            landing_.header.context | std::uint64_t(landing_.header.sequence) << 32,
            landing_.header.grants + done, landing_left_);
    }
    ssize_t got = 0;
    if (memory.empty()) {
        got = recv(socket_.get(), in_.get() + in_end_, room, MSG_DONTWAIT);
    } else {
        const std::array<iovec, 2> parts{
            {{memory.data(), memory.size()}, {in_.get() + in_end_, room}}};
        got = readv(socket_.get(), parts.data(), 2);
    }
    if (got <= 0) {
        if (got == 0)
            end_of_stream();
        else if (errno != EAGAIN && errno != EINTR)
            fail(fmt::format("receiving failed: {}", std::strerror(errno)));
        return false;
    }
    const std::size_t straight = std::min(std::size_t(got), memory.size());
    in_end_ += std::size_t(got) - straight;
    if (straight != 0) land(sink, straight, memory.data());
    return std::size_t(got) == memory.size() + room;
}

void TcpChannel::end_of_stream() {
    fail("its process has closed it without a farewell: it ended, or was killed");
}

int TcpChannel::parse(Sink& sink) {
    int taken = 0;
    while (state_ == State::open && parse_one(sink, taken)) {
    }
    return taken;
}

// One frame, or what is there of a write. False: more bytes are needed.
bool TcpChannel::parse_one(Sink& sink, int& taken) {
    const std::size_t there = in_end_ - in_begin_;
    const std::byte* from = in_.get() + in_begin_;
    if (landing_left_ != 0) {
        const std::size_t bytes = std::min(there, landing_left_);
        if (bytes == 0) return false;
        const std::size_t done = landing_.header.length - landing_left_;
        const Bytes memory = interface_.exposures_.find(
            landing_.header.context | std::uint64_t(landing_.header.sequence) << 32,
            landing_.header.grants + done, bytes);
        if (!memory.empty()) std::memcpy(memory.data(), from, bytes);
        in_begin_ += bytes;
        land(sink, bytes, from);
        if (landing_left_ == 0) ++taken;
        return true;
    }
    if (there < head_bytes()) return false;
    FrameHead head{};
    std::memcpy(&head, from, head_bytes());
    const PacketHeader& header = head.header;
    if (interface_.options_.checksum && head.checksum != checksum_of(header)) {
        fail("a header arrived with a wrong checksum: the link corrupts data");
        return false;
    }
    const auto frame = Frame(header.place);
    if (frame == Frame::write) {
        if (header.length > write_piece) {
            fail(fmt::format("a write of {} B arrived, expected at most {}", header.length,
                             write_piece));
            return false;
        }
        in_begin_ += head_bytes();
        landing_ = head;
        landing_left_ = header.length;
        landing_sum_ = 0;
        if (landing_left_ == 0) land(sink, 0, from);
        return true;
    }
    const std::size_t most = frame == Frame::packet   ? port_.slot_bytes
                             : frame == Frame::closed ? longest_reason
                                                      : 0;
    if (header.place > std::uint8_t(Frame::closed) || header.length > most ||
        header.slot_class >= port_.classes) {
        fail(fmt::format("a frame of kind {}, class {} and {} B arrived, which cannot be",
                         header.place, header.slot_class, header.length));
        return false;
    }
    if (there < head_bytes() + header.length) return false;
    const std::byte* payload = from + head_bytes();
    if (interface_.options_.checksum && frame == Frame::packet &&
        header.stamp != checksum_of(header, payload)) {
        fail(
            "a payload arrived with a wrong checksum: the link, or a rank before it, corrupts "
            "data");
        return false;
    }
    in_begin_ += head_bytes() + header.length;
    switch (frame) {
        case Frame::packet:
            taken += deliver(sink, header, payload);
            return true;
        case Frame::grant:
            // Checked lane by lane: a sum that runs over would be believed to be another.
            if ((header.grants & token_guard_bits) != 0 ||
                ((granted_ + header.grants) & token_guard_bits) != 0) {
                fail("more tokens arrived than there are");
                return false;
            }
            granted_ += header.grants;
            ++taken;
            return true;
        case Frame::farewell:
            state_ = State::finished;
            drop_socket();
            return false;
        default:
            fail(std::string(reinterpret_cast<const char*>(payload), header.length));
            return false;
    }
}

// `bytes` more of the arriving write are in place, or thrown away.
void TcpChannel::land(Sink& sink, std::size_t bytes, const std::byte* from) {
    if (interface_.options_.checksum) landing_sum_ = crc32c(from, bytes, landing_sum_);
    landing_left_ -= bytes;
    if (landing_left_ != 0) return;
    if (interface_.options_.checksum && landing_sum_ != landing_.header.stamp)
        return fail("a remote write arrived with a wrong checksum: the link corrupts data");
    if (landing_.header.kind == 1)
        sink.on_notice(*this, landing_.header.source | std::uint64_t(landing_.header.destination)
                                                           << 32);
}

int TcpChannel::deliver(Sink& sink, const PacketHeader& header, const std::byte* payload) {
    if (held_[header.slot_class].count == 0 &&
        sink.on_packet(*this, header, payload) == Verdict::taken) [[likely]]
        return 1;
    if (state_ == State::open && !keep(header, payload))
        fail("more packets arrived than there are slots");
    return 0;
}

// Puts a packet in a slot of its class until core takes it.
bool TcpChannel::keep(const PacketHeader& header, const std::byte* payload) {
    Held& held = held_[header.slot_class];
    const std::size_t slots = port_.tokens[header.slot_class];
    const std::size_t stride = sizeof header + port_.slot_bytes;
    if (held.count == slots) return false;
    if (held.slots == nullptr)
        held.slots = std::make_unique_for_overwrite<std::byte[]>(slots * stride);
    std::byte* slot = held.slots.get() + (held.first + held.count) % slots * stride;
    std::memcpy(slot, &header, sizeof header);
    if (header.length != 0) std::memcpy(slot + sizeof header, payload, header.length);
    ++held.count;
    if (held_count_++ == 0) ++interface_.holding_;
    return true;
}

int TcpChannel::offer_held(Sink& sink) {
    int taken = 0;
    const std::size_t stride = sizeof(PacketHeader) + port_.slot_bytes;
    for (int k = 0; k < port_.classes; ++k) {
        Held& held = held_[std::size_t(k)];
        while (held.count != 0 && state_ == State::open) {
            const std::byte* slot = held.slots.get() + held.first * stride;
            PacketHeader header;
            std::memcpy(&header, slot, sizeof header);
            if (sink.on_packet(*this, header, slot + sizeof header) == Verdict::held) break;
            ++taken;
            if (state_ != State::open) return taken;  // core has closed it: nothing is held now
            held.first = (held.first + 1) % port_.tokens[std::size_t(k)];
            --held.count;
            if (--held_count_ == 0) --interface_.holding_;
        }
    }
    return taken;
}

// ---- life ----

void TcpChannel::open(base::Descriptor socket) {
    socket_ = std::move(socket);
    state_ = State::open;
    flush();
}

void TcpChannel::say_farewell() {
    if (state_ == State::open) {
        PacketHeader farewell{};
        farewell.place = std::uint8_t(Frame::farewell);
        queue_frame(farewell, {});
        flush();
    }
    if (state_ == State::open) {
        // Unread bytes would turn the end into a reset at the peer.
        shutdown(socket_.get(), SHUT_WR);
        while (recv(socket_.get(), in_.get(), in_bytes_, MSG_DONTWAIT) > 0) {
        }
    }
    if (state_ >= State::finished) return;
    state_ = State::finished;
    drop_socket();
}

bool TcpChannel::is_unanswered(std::chrono::nanoseconds patience) const {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return false;
    // Data sent again, or the question whether there is room for more; one of these alone may have
    // been lost.
    const bool asked = info.tcpi_retransmits != 0 || info.tcpi_probes > 1;
    return asked && std::chrono::milliseconds(info.tcpi_last_ack_recv) >= patience;
}

void TcpChannel::drop_socket() {
    if (blocked_) set_blocked(false);
    socket_.reset();
    out_.clear();
    if (held_count_ != 0) --interface_.holding_;
    held_count_ = 0;
    // Core may be looking at one of the slots.
    for (Held& held : held_) held.first = held.count = 0;
}

void TcpChannel::fail(std::string why) {
    if (state_ >= State::finished) return;
    why_ = std::move(why);
    state_ = State::down;
    drop_socket();
    for (; first_write_ < writes_.size(); ++first_write_)
        interface_.transfers_.push_back({this, writes_[first_write_].cookie, false});
    writes_.clear();
    first_write_ = 0;
    interface_.fallen_.push_back(this);
}

}  // namespace torusmp::transport::tcp

// SPDX-License-Identifier: BSD-3-Clause
// The receiving side of a TCP channel, and its states.
#include "core/transport/tcp/channel.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "core/transport/common/crc32c.h"
#include "core/transport/tcp/interface.h"

namespace torusmp::transport::tcp {
namespace {

constexpr std::size_t in_room = 256u << 10;
// As long as writes arrive, at most this much is read besides the payload of a write: the next head
// and short frames. More would be payload of the next write, to be copied to its place.
constexpr std::size_t room_beside_writes = 512;
constexpr int reads_a_poll = 4;

}  // namespace

TcpChannel::TcpChannel(TcpInterface& interface, const PortOptions& port, Ends ends)
    : NetworkChannel(interface.can(), port),
      interface_(interface),
      writes_(interface.options().checksum),
      burst_(interface.options().oversubscribed) {
    name_ = std::move(ends.name);
    peer_ = ends.peer;
    remote_port_ = ends.remote_port;
    in_bytes_ =
        std::max(in_room, 2 * (sizeof(FrameHead) + std::max(port.slot_bytes, longest_note)));
    in_ = std::make_unique_for_overwrite<std::byte[]>(in_bytes_);
    reserved_ =
        std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(port.slot_bytes, 1));
}

// ---- in ----

int TcpChannel::receive(Sink& sink) {
    int taken = 0;
    corked_ = false;
    for (int i = 0; i < reads_a_poll && state_ == State::open; ++i) {
        const bool more = receive_some(sink);
        taken += parse(sink);
        if (!more) break;
        if (incoming_left_ == 0) expects_write_ = false;  // many packets arrive, or a long one
    }
    return taken;
}

// Makes one system call. Returns true if there may be more.
bool TcpChannel::receive_some(Sink& sink) {
    if (in_begin_ == in_end_) in_begin_ = in_end_ = 0;
    // The longest frame that is parsed in one piece must fit behind in_begin_.
    const std::size_t longest = sizeof(FrameHead) + std::max(port_.slot_bytes, longest_note);
    if (in_begin_ != 0 && in_bytes_ - in_begin_ < longest) {
        std::memmove(in_.get(), in_.get() + in_begin_, in_end_ - in_begin_);
        in_end_ -= in_begin_;
        in_begin_ = 0;
    }
    const std::size_t room =
        std::min(in_bytes_ - in_end_, expects_write_ ? room_beside_writes : in_bytes_);
    Bytes memory;
    if (incoming_left_ != 0) {
        memory = landing_place(incoming_left_);
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
        else if (errno == ETIMEDOUT)
            fail(std::string(silent()));
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
    fail("its process has closed it without a goodbye: it ended, or was killed");
}

int TcpChannel::parse(Sink& sink) {
    int taken = 0;
    while (state_ == State::open && parse_one(sink, taken)) {
    }
    return taken;
}

// Parses one frame, or the part of a write that has arrived. Returns false if more bytes are
// needed.
bool TcpChannel::parse_one(Sink& sink, int& taken) {
    TORUSMP_ASSERT(in_begin_ <= in_end_ && in_end_ <= in_bytes_, in_begin_, in_end_, in_bytes_);
    const std::size_t there = in_end_ - in_begin_;
    const std::byte* from = in_.get() + in_begin_;
    if (incoming_left_ != 0) {
        const std::size_t bytes = std::min(there, incoming_left_);
        if (bytes == 0) return false;
        const Bytes memory = landing_place(bytes);
        if (!memory.empty()) std::memcpy(memory.data(), from, bytes);
        in_begin_ += bytes;
        land(sink, bytes, from);
        if (incoming_left_ == 0) ++taken;
        return true;
    }
    if (there < head_bytes()) return false;
    FrameHead head{};
    std::memcpy(&head, from, head_bytes());
    const PacketHeader& header = head.header;
    if (interface_.options().checksum && head.checksum != checksum_of(header)) {
        fail("a header arrived with a wrong checksum: the link corrupts data");
        return false;
    }
    const auto frame = Frame(header.transport_byte);
    if (frame == Frame::write) {
        if (header.length > write_piece) {
            fail(fmt::format("a write of {} B arrived, expected at most {}", header.length,
                             write_piece));
            return false;
        }
        in_begin_ += head_bytes();
        incoming_ = std::bit_cast<WriteFrame>(header);
        incoming_left_ = header.length;
        incoming_sum_ = 0;
        expects_write_ = true;
        if (incoming_left_ == 0) land(sink, 0, from);
        return true;
    }
    const std::size_t most = frame == Frame::packet   ? port_.slot_bytes
                             : frame == Frame::closed ? longest_reason
                             : frame == Frame::note   ? most_noted()
                                                      : 0;
    if (header.transport_byte > std::uint8_t(Frame::note) || header.length > most ||
        header.virtual_channel >= port_.virtual_channels) {
        fail(fmt::format("an invalid frame of kind {}, virtual channel {} and {} B arrived",
                         header.transport_byte, header.virtual_channel, header.length));
        return false;
    }
    if (there < head_bytes() + header.length) return false;
    const std::byte* payload = from + head_bytes();
    if (interface_.options().checksum && frame == Frame::packet &&
        header.stamp != checksum_of(header, {payload, header.length}, {})) {
        fail(
            "a payload arrived with a wrong checksum: the link, or a rank before it, corrupts "
            "data");
        return false;
    }
    in_begin_ += head_bytes() + header.length;
    switch (frame) {
        case Frame::packet:
            if (Companion* const companion = interface_.options().companion)
                taken += companion->on_packet(*this, sink, header, payload);
            else
                taken += deliver(sink, header, payload);
            return true;
        case Frame::note:
            interface_.options().companion->on_note(*this, sink, {payload, header.length});
            return true;
        case Frame::grant:
            take_grant(std::bit_cast<ControlFrame>(header).credits);
            if (state_ != State::open) return false;
            // An empty grant was sent for the kernel's answer: see look_for_silence().
            if (std::bit_cast<ControlFrame>(header).credits != 0) ++taken;
            return true;
        case Frame::goodbye:
            become(State::finished);
            drop_socket();
            return false;
        default:
            fail(std::string(reinterpret_cast<const char*>(payload), header.length));
            return false;
    }
}

// The longest payload that a note may have.
std::size_t TcpChannel::most_noted() const {
    return interface_.options().companion != nullptr ? longest_note : 0;
}

// The place of the next `bytes` of the arriving write; empty if it no longer exists.
Bytes TcpChannel::landing_place(std::size_t bytes) const {
    const std::size_t done = incoming_.length - incoming_left_;
    return interface_.find_exposed(incoming_.memory(), incoming_.offset + done, bytes);
}

// `bytes` more of the arriving write are in place, or dropped.
void TcpChannel::land(Sink& sink, std::size_t bytes, const std::byte* from) {
    if (interface_.options().checksum) incoming_sum_ = crc32c(from, bytes, incoming_sum_);
    TORUSMP_ASSERT(bytes <= incoming_left_, bytes, incoming_left_, incoming_.offset);
    incoming_left_ -= bytes;
    if (incoming_left_ != 0) return;
    if (interface_.options().checksum && incoming_sum_ != incoming_.checksum)
        return fail("a remote write arrived with a wrong checksum: the link corrupts data");
    if (incoming_.notifies == 1) sink.on_notice(*this, incoming_.notice);
}

int TcpChannel::deliver(Sink& sink, const PacketHeader& header, const std::byte* payload) {
    if (held_[header.virtual_channel].empty() &&
        sink.on_packet(*this, header, payload) == Verdict::taken) [[likely]]
        return 1;
    if (state_ == State::open && !keep(header, payload))
        fail("more packets arrived than slots exist");
    return 0;
}

int TcpChannel::take(Sink& sink, const PacketHeader& header, const std::byte* payload) {
    return is_over() ? 0 : deliver(sink, header, payload);
}

// Keeps a packet in a slot of its virtual channel until core takes it.
bool TcpChannel::keep(const PacketHeader& header, const std::byte* payload) {
    const std::size_t slots = port_.credits[header.virtual_channel];
    if (!held_[header.virtual_channel].push(header, payload, slots, port_.slot_bytes)) return false;
    if (held_count_++ == 0) interface_.on_held(true);
    return true;
}

int TcpChannel::offer_held(Sink& sink) {
    int taken = 0;
    for (int k = 0; k < port_.virtual_channels; ++k) {
        HeldSlots& held = held_[std::size_t(k)];
        while (!held.empty() && state_ == State::open) {
            if (sink.on_packet(*this, held.header(), held.payload()) == Verdict::held) break;
            ++taken;
            if (state_ != State::open) return taken;  // core has closed it, so nothing is held now
            held.pop();
            TORUSMP_ASSERT(held_count_ > held.size(), k, held_count_, held.size());
            if (--held_count_ == 0) interface_.on_held(false);
        }
    }
    return taken;
}

// ---- states ----

// Calls may fail, and the other end may call instead, any number of times before the two ends meet.
void TcpChannel::become(State next) {
    [[maybe_unused]] const bool allowed = next == State::open  ? connecting()
                                          : next < State::open ? connecting()
                                                               : !is_over();
    TORUSMP_ASSERT(allowed, port_.port, state_, next);
    state_ = next;
}

void TcpChannel::open(base::Descriptor socket) {
    socket_ = std::move(socket);
    become(State::open);
    if (interface_.options().companion != nullptr) interface_.options().companion->on_open(*this);
    flush();
}

void TcpChannel::say_goodbye() {
    if (state_ == State::open) {
        queue_frame(as_header(ControlFrame{.frame = Frame::goodbye}), {}, {});
        flush();
    }
    if (state_ == State::open) {
        // Unread bytes would make the peer see a reset instead of the end.
        shutdown(socket_.get(), SHUT_WR);
        while (recv(socket_.get(), in_.get(), in_bytes_, MSG_DONTWAIT) > 0) {
        }
    }
    if (state_ >= State::finished) return;
    become(State::finished);
    drop_socket();
}

bool TcpChannel::is_made_good() const {
    return calling_.mutual ? interface_.options().spares_links : calling_.renews;
}

std::string_view TcpChannel::silent() const {
    return calling_.device_name.empty()
               ? "its host no longer answers: it is down, or a cable on the route is out"
               : "its host no longer answers: it is down, or the cable is out";
}

Clock::time_point TcpChannel::look_for_silence(Clock::time_point now,
                                               std::chrono::nanoseconds limit) {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return now + limit / 8;
    const auto found = silence_.look(info, now, {limit, is_made_good(), blocked_});
    if (found.ask) grant(0);
    if (found.dead) cut(std::string(silent()));
    return found.next;
}

// The kernel resends after waits that double, and reports their number and the next wait.
Channel::Unanswered TcpChannel::unanswered() const {
    tcp_info info{};
    socklen_t length = sizeof info;
    int unacknowledged = 0;
    if (state_ != State::open ||
        getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
        ioctl(socket_.get(), SIOCOUTQ, &unacknowledged) != 0 || info.tcpi_unacked == 0)
        return {};
    Unanswered found{.bytes = std::uint64_t(unacknowledged)};
    if (info.tcpi_retransmits == 0) return found;
    const std::chrono::microseconds next(info.tcpi_rto);
    const auto waited = next - next / (1 << std::min<int>(info.tcpi_retransmits, 20));
    found.silence = std::min<std::chrono::nanoseconds>(
        std::chrono::milliseconds(info.tcpi_last_ack_recv),
        waited + std::chrono::milliseconds(info.tcpi_last_data_sent));
    return found;
}

void TcpChannel::cut(std::string why) {
    const linger none{1, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
    fail(std::move(why));
}

void TcpChannel::drop_socket() {
    if (blocked_) set_blocked(false);
    socket_.reset();
    out_.clear();
    if (held_count_ != 0) interface_.on_held(false);
    held_count_ = 0;
    // Core may be reading one of the slots.
    for (HeldSlots& held : held_) held.clear();
}

void TcpChannel::fail(std::string why) {
    if (state_ >= State::finished) return;
    why_ = std::move(why);
    become(State::down);
    drop_socket();
    writes_.drop([&](std::uint64_t cookie) { interface_.on_write_end(*this, cookie, false); });
    interface_.on_fall(*this);
}

}  // namespace torusmp::transport::tcp

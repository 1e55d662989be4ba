// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/transport/ethernet/interface.h"

namespace torusmp::transport::ethernet {
namespace {

// From this size on, packets in quick succession go over the connection, in which the kernel makes
// one packet of forty frames; for shorter ones, sharing our frames is faster.
constexpr std::size_t worth_the_connection = 512;
// The number of polls that does not end such a series; by then arrived packets are confirmed, or
// their answer is not due.
constexpr unsigned polls_of_a_row = 32;
// Polls without a frame after which arrived packets are confirmed, because no answer that would
// confirm them is on its way.
constexpr unsigned polls_until_confirmed = 64;

// Broadcast on the cable: the address of the next node on the path is unknown.
constexpr Mac everybody{std::byte(0xff), std::byte(0xff), std::byte(0xff),
                        std::byte(0xff), std::byte(0xff), std::byte(0xff)};

// The content of notes over the connection.
enum class Note : std::uint64_t {
    greeting,  // a Greeting follows
    number,    // the number of the packet that follows
    records    // the records of a frame that was not confirmed, with its number and grants
};

struct NoteHeader {
    Note kind{};
    std::uint64_t number = 0;
    std::uint64_t grants = 0;
    std::uint64_t confirmed = 0;  // with a number: everything below it has arrived
};

ConstBytes bytes_of(const auto& value) {
    return std::as_bytes(std::span(&value, 1));
}

}  // namespace

EthernetChannel::EthernetChannel(EthernetInterface& interface, const PortOptions& port,
                                 tcp::TcpChannel& connection, unsigned window)
    : Channel(interface.can()),
      interface_(interface),
      connection_(connection),
      port_(port.port),
      session_(*this, window),
      burst_(interface.options().oversubscribed),
      reserved_(
          std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(port.slot_bytes, 1))) {
    connection_.owner = this;
}

// ---- out ----

// Whether a packet should go over the connection: frames sent soon after packets there would only
// wait for those at the other end.
bool EthernetChannel::suits_connection(std::size_t bytes, bool in_a_row) const {
    if (bytes < worth_the_connection) return false;
    return in_a_row || (!session_.is_confirmed(by_connection_) &&
                        interface_.turn() - by_connection_turn_ < polls_of_a_row);
}

void EthernetChannel::send(const PacketHeader& header, ConstBytes payload) {
    send_parts(header, {}, payload);
}

void EthernetChannel::send_parts(const PacketHeader& header, ConstBytes front, ConstBytes payload) {
    if (over_) return;
    PacketHeader framed = header;
    if (interface_.options().checksum && framed.stamp == 0)
        framed.stamp = tcp::checksum_of(framed, front, payload);
    // As in TCP: packets sent inside a poll leave together, and so do packets in quick succession.
    const bool corked = std::exchange(corked_, false);
    const bool waits = corked || interface_.polling();
    const bool in_a_row = !waits && !burst_.leaves_at_once(interface_.turn());
    const bool at_once = !waits && !in_a_row;
    if (!suits_connection(front.size() + payload.size(), in_a_row) &&
        session_.send(framed, front, payload, at_once)) [[likely]] {
        if (!at_once) interface_.make_dirty(*this);
        return;
    }
    const std::uint64_t number = session_.take_number();
    by_connection_ = number + 1;
    by_connection_turn_ = interface_.turn();
    const NoteHeader note{
        .kind = Note::number, .number = number, .confirmed = session_.tell_confirmed()};
    connection_.send_note(bytes_of(note), {});
    if (corked) connection_.cork();
    connection_.send_parts(header, front, payload);
}

std::byte* EthernetChannel::reserve(int /*virtual_channel*/, std::size_t /*bytes*/) {
    return reserved_.get();
}

void EthernetChannel::commit(const PacketHeader& header) {
    send_parts(header, {}, {reserved_.get(), header.length});
}

void EthernetChannel::grant(CreditWord credits) {
    if (over_) return;
    const bool at_once = !corked_ && !interface_.polling();
    if (!session_.grant(credits, at_once)) return connection_.grant(credits);
    if (!at_once) interface_.make_dirty(*this);
}

CreditWord EthernetChannel::collect_grants() {
    return std::exchange(granted_, 0) + connection_.collect_grants();
}

bool EthernetChannel::can_write(const RemoteMemory& remote) const {
    return connection_.can_write(remote);
}

bool EthernetChannel::can_ever_write(const RemoteMemory& remote) const {
    return connection_.can_ever_write(remote);
}

Transfer EthernetChannel::write(const RemoteMemory& remote, std::size_t offset,
                                std::span<const ConstBytes> local, std::uint64_t cookie,
                                std::optional<std::uint64_t> notice) {
    corked_ = false;
    flush();
    return connection_.write(remote, offset, local, cookie, notice);
}

void EthernetChannel::flush() {
    if (!over_) session_.flush();
}

Channel::Arrivals EthernetChannel::arrivals() const {
    if (cable_ == 0) return {};
    const Counters& counted = session_.counters();
    std::uint32_t session = 0;
    std::memcpy(&session, own_.nonce.data(), sizeof session);
    return {cable_, session, counted.taken - counted.repeated, counted.lost};
}

void EthernetChannel::close(std::string_view why) {
    flush();
    end();
    connection_.close(why);
}

void EthernetChannel::end() {
    over_ = true;
    session_.end();
}

bool EthernetChannel::send_frame(std::byte* frame, std::size_t bytes) {
    std::byte* const whole = frame - front_bytes_;
    std::memcpy(whole, front_.data(), front_bytes_);
    return by_device_ == 0 ? ring_->send(whole, front_bytes_ + bytes)
                           : ring_->send_by(by_device_, whole, front_bytes_ + bytes);
}

void EthernetChannel::send_records(std::uint64_t number, CreditWord grants, ConstBytes records) {
    const NoteHeader note{.kind = Note::records, .number = number, .grants = grants};
    connection_.send_note(bytes_of(note), records);
}

// ---- in ----

int EthernetChannel::receive(Sink& sink) {
    corked_ = false;
    if (ring_ == nullptr || over_) return 0;
    int taken = 0;
    bool came = std::exchange(came_, false);
    if (by_device_ == 0) {
        sink_ = &sink;
        ring_->drain(frames_a_poll, ethernet_header_bytes,
                     [&](const std::byte* frame, std::size_t bytes) {
                         came = true;
                         taken += session_.take_frame(frame, bytes);
                     });
    }
    confirm_in_time(came);
    return taken;
}

int EthernetChannel::take_frame(Sink& sink, const std::byte* frame, std::size_t bytes) {
    if (over_) return 0;
    came_ = true;
    sink_ = &sink;
    return session_.take_frame(frame, bytes);
}

void EthernetChannel::confirm_in_time(bool came) {
    if (came)
        quiet_polls_ = 0;
    else if (session_.owes())
        ++quiet_polls_;
    if (session_.should_confirm() || quiet_polls_ >= polls_until_confirmed) {
        quiet_polls_ = 0;
        session_.confirm();
    }
}

int EthernetChannel::on_record(const PacketHeader& header, const std::byte* payload) {
    if (over_) return 0;
    if (!connection_.admits(header)) {
        refuse(fmt::format("an invalid packet of virtual channel {} and {} B arrived",
                           header.virtual_channel, header.length));
        return 0;
    }
    if (interface_.options().checksum &&
        header.stamp != tcp::checksum_of(header, {payload, header.length}, {})) {
        refuse("a payload arrived with a wrong checksum: a rank before this link corrupts data");
        return 0;
    }
    return connection_.take(*sink_, header, payload);
}

void EthernetChannel::on_grants(CreditWord grants) {
    if (over_) return;
    // Checked lane by lane: a lane that overflows would be taken for credits of the next one.
    if ((grants & credit_guard_bits) != 0 || ((granted_ + grants) & credit_guard_bits) != 0)
        return refuse("more credits arrived than exist");
    granted_ += grants;
}

void EthernetChannel::on_fault(std::string_view why) {
    refuse(std::string(why));
}

void EthernetChannel::refuse(std::string why) {
    end();
    connection_.fail(std::move(why));
}

// ---- the connection ----

void EthernetChannel::attach(std::shared_ptr<RingSocket> ring, const Greeting& own) {
    ring_ = std::move(ring);
    // Drops what arrived for the previous channel.
    if (ring_ != nullptr) ring_->drain(1 << 20, 0, [](const std::byte*, std::size_t) {});
    own_ = own;
}

void EthernetChannel::attach_shared(std::shared_ptr<RingSocket> ring, const Greeting& own,
                                    unsigned device, const ForwardHeader& forward) {
    ring_ = std::move(ring);
    own_ = own;
    by_device_ = device;
    front_bytes_ = forwarded_header_bytes;
    std::memcpy(front_.data() + ethernet_header_bytes, &forward, sizeof forward);
}

void EthernetChannel::address_frames(const Mac& to, std::uint16_t type) {
    std::copy(to.begin(), to.end(), front_.begin());
    std::copy(own_.mac.begin(), own_.mac.end(), front_.begin() + 6);
    front_[12] = std::byte(type >> 8);
    front_[13] = std::byte(type & 0xff);
}

void EthernetChannel::greet() {
    connection_.send_note(bytes_of(NoteHeader{.kind = Note::greeting}), bytes_of(own_));
}

void EthernetChannel::take_note(Sink& sink, ConstBytes note) {
    NoteHeader header;
    if (note.size() < sizeof header) return refuse("a truncated note");
    std::memcpy(&header, note.data(), sizeof header);
    note = note.subspan(sizeof header);
    sink_ = &sink;
    switch (header.kind) {
        case Note::greeting: {
            Greeting theirs{};
            if (note.size() != sizeof theirs) return refuse("a truncated greeting");
            std::memcpy(&theirs, note.data(), sizeof theirs);
            if (theirs.version != frame_version) return refuse("frames of another version");
            if (by_device_ == 0)
                address_frames(theirs.mac, ethertype);
            else
                address_frames(everybody, forwarded_type);
            if (ring_ == nullptr) return;
            session_.begin(interface_.options().secret, own_, theirs);
            session_.tend(Clock::now());
            return;
        }
        case Note::number:
            announced_ = header.number;
            session_.take_confirmed(header.confirmed);
            return;
        case Note::records:
            interface_.on_taken(session_.take_records(header.number, header.grants, note));
            return;
    }
    refuse("a note of unknown kind");
}

int EthernetChannel::take_from_connection(Sink& sink, const PacketHeader& header,
                                          const std::byte* payload) {
    sink_ = &sink;
    const auto number = std::exchange(announced_, std::nullopt);
    if (!number) {
        refuse("a packet arrived without its sequence number");
        return 0;
    }
    return session_.take_packet(*number, header, payload);
}

}  // namespace torusmp::transport::ethernet

// SPDX-License-Identifier: BSD-3-Clause
#include "core/far/far_end.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace torusmp::core {

using transport::PacketHeader;

void FarEnd::send(const PacketHeader& header, transport::ConstBytes payload) {
    std::byte* const kept = room(payload.size());
    std::copy(payload.begin(), payload.end(), kept);
    keep(header, kept);
}

std::byte* FarEnd::reserve(int /*virtual_channel*/, std::size_t bytes) {
    TORUSMP_ASSERT(reserved_ == nullptr, connection_.peer, bytes);
    return reserved_ = room(bytes);
}

void FarEnd::commit(const PacketHeader& header) {
    keep(header, std::exchange(reserved_, nullptr));
}

void FarEnd::keep(const PacketHeader& header, std::byte* payload) {
    if (kept_.empty()) kept_.resize(std::bit_ceil(connection_.credits.limit(0)));
    TORUSMP_ASSERT(unconfirmed() < kept_.size(), connection_.peer, sent_, confirmed_, kept_.size());
    Packet& packet = place_of(sent_);
    packet.header = header;
    packet.header.grants = 0;  // `taken` says it
    packet.header.length += std::uint32_t(sizeof(Envelope));
    packet.payload = payload;
    ++sent_;
    pump();
}

void FarEnd::seal(std::byte* envelope, std::uint32_t number) const {
    const Envelope body{number, taken_, deaths_, 0};
    std::memcpy(envelope, &body, sizeof body);
}

// Precondition: the link has a credit.
void FarEnd::send_next() {
    TORUSMP_ASSERT(next_ - confirmed_ < unconfirmed(), connection_.peer, next_, confirmed_, sent_);
    const Packet& packet = place_of(next_);
    PacketHeader header = packet.header;
    seal(packet.payload + header.length - sizeof(Envelope), next_++);
    sender_.transmit(*link_, header, {packet.payload, header.length});
    link_->statistics.count_control(header.length);
}

// Sends what the credits of the link allow, and waits in its queue with the rest.
void FarEnd::pump() {
    if (waits_ || link_ == nullptr || link_->down()) return;
    while (next_ != sent_ && link_->messages.empty() && link_->credits.may_enter()) send_next();
    if (next_ == sent_) return;
    waits_ = true;
    sender_.enqueue(*link_, *this, PacketSender::Queue::message);
}

bool FarEnd::emit(Connection& link) {
    TORUSMP_ASSERT(waits_ && &link == link_, connection_.peer, link.peer, next_, sent_);
    waits_ = false;
    if (next_ != sent_) send_next();
    pump();
    return true;
}

void FarEnd::leave_by(Connection* link) {
    if (std::exchange(waits_, false)) link_->messages.remove(*this);
    link_ = link;
}

void FarEnd::grant(transport::CreditWord /*credits*/) {
    if (link_ == nullptr || link_->down()) return;
    std::array<std::byte, sizeof(Envelope)> payload;
    seal(payload.data(), 0);
    sender_.send_again(*link_,
                       transport::make_header(std::uint8_t(PacketKind::receipt), sizeof payload, 0,
                                              0, std::uint32_t(commons_.rank()),
                                              std::uint32_t(connection_.peer), 0, 0),
                       payload);
}

void FarEnd::send_again() {
    if (taken_ != 0) grant(0);  // what is sent again may be confirmed before it leaves
    connection_.statistics.resent += next_ - confirmed_;
    next_ = confirmed_;
    pump();
}

bool FarEnd::confirm(std::uint32_t taken) {
    const std::uint32_t fresh = taken - confirmed_;
    if (std::int32_t(fresh) <= 0) return true;  // one that left before others overtook it
    if (fresh > unconfirmed()) return false;
    for (; confirmed_ != taken; ++confirmed_) free(place_of(confirmed_));
    if (std::int32_t(next_ - confirmed_) < 0) next_ = confirmed_;  // sent on an earlier path
    collectable_ += fresh;
    return true;
}

transport::CreditWord FarEnd::collect_grants() {
    return std::exchange(collectable_, 0) * transport::credit_of(0);
}

void FarEnd::free(Packet& packet) {
    commons_.pool.give(std::exchange(packet.payload, nullptr), packet.header.length);
}

void FarEnd::forget() {
    leave_by(nullptr);
    for (; confirmed_ != sent_; ++confirmed_) free(place_of(confirmed_));
    next_ = sent_;
}

}  // namespace torusmp::core

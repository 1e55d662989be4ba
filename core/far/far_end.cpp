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
    emit(packet.header, payload, sent_++);
}

void FarEnd::emit(const PacketHeader& header, std::byte* payload, std::uint32_t number) {
    if (link_ == nullptr || link_->down()) return;
    const Envelope envelope{number, taken_, deaths_, 0};
    std::memcpy(payload + header.length - sizeof envelope, &envelope, sizeof envelope);
    sender_.send_again(*link_, header, {payload, header.length});
}

void FarEnd::grant(transport::CreditWord /*credits*/) {
    std::array<std::byte, sizeof(Envelope)> payload;
    emit(transport::make_header(std::uint8_t(PacketKind::receipt), sizeof payload, 0, 0,
                                std::uint32_t(commons_.rank()), std::uint32_t(connection_.peer), 0,
                                0),
         payload.data(), 0);
}

void FarEnd::send_again() {
    if (unconfirmed() == 0 && taken_ != 0) return grant(0);
    for (std::uint32_t number = confirmed_; number != sent_; ++number) {
        const Packet& packet = place_of(number);
        ++connection_.statistics.resent;
        emit(packet.header, packet.payload, number);
    }
}

bool FarEnd::confirm(std::uint32_t taken) {
    const std::uint32_t fresh = taken - confirmed_;
    if (std::int32_t(fresh) <= 0) return true;  // one that left before others overtook it
    if (fresh > unconfirmed()) return false;
    for (; confirmed_ != taken; ++confirmed_) free(place_of(confirmed_));
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
    link_ = nullptr;
    for (; confirmed_ != sent_; ++confirmed_) free(place_of(confirmed_));
}

}  // namespace torusmp::core

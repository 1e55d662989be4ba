// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/retained.h"

#include <algorithm>

#include "base/assert.h"

namespace torusmp::core {

using transport::ConstBytes;
using transport::PacketHeader;

namespace {

// One line more than a power of two, so that slots do not compete for the same cache sets.
constexpr std::size_t stride_of(std::size_t bytes) {
    return (bytes + 63) / 64 * 64 + 64;
}

}  // namespace

Retained::Retained(int virtual_channels, transport::CreditWord credits, std::size_t slot_bytes)
    : stride_(stride_of(slot_bytes)) {
    for (int k = 0; k < virtual_channels; ++k)
        virtual_channels_[std::size_t(k)].count = transport::credits_in(credits, k);
}

// The slots are first touched when they are used; until then they cost only address space.
void Retained::begin(VirtualChannel& it) const {
    it.packets = std::make_unique<Packet[]>(it.count);
    it.far = std::make_unique_for_overwrite<std::byte[]>(it.count * stride_);
}

void Retained::keep(const PacketHeader& header, ConstBytes payload) {
    TORUSMP_ASSERT(payload.size() == header.length && payload.size() <= stride_, header.kind,
                   header.length, payload.size(), stride_);
    VirtualChannel& it = of(header.virtual_channel);
    std::byte* const slot = far(it, it.next);
    Packet& packet = take(it, header);
    std::byte* const to = payload.size() <= packet.near.size() ? packet.near.data() : slot;
    std::copy(payload.begin(), payload.end(), to);
    packet.payload = to;
}

void Retained::keep_placed(const PacketHeader& header, ConstBytes front, ConstBytes payload,
                           const transport::RemoteAddress& target) {
    TORUSMP_ASSERT(front.size() == header.length && front.size() + payload.size() <= stride_,
                   header.kind, header.length, front.size(), payload.size(), stride_);
    VirtualChannel& it = of(header.virtual_channel);
    std::byte* const slot = far(it, it.next);
    Packet& packet = take(it, header);
    std::copy(payload.begin(), payload.end(), std::copy(front.begin(), front.end(), slot));
    packet.payload = slot;
    packet.address = target.address;
    packet.key = target.key;
    packet.placed = std::uint32_t(payload.size());
}

std::size_t Retained::bytes() const {
    std::size_t sum = 0;
    for (const VirtualChannel& it : virtual_channels_)
        if (it.packets != nullptr) sum += it.count * (sizeof(Packet) + stride_);
    return sum;
}

ConstBytes Retained::keep_packed(const PacketHeader& header) {
    VirtualChannel& it = of(header.virtual_channel);
    std::byte* const slot = far(it, it.next);
    take(it, header).payload = slot;
    return {slot, header.length};
}

}  // namespace torusmp::core

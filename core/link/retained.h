// SPDX-License-Identifier: BSD-3-Clause
// Packets that one end of a link has sent and the other has not confirmed, by virtual channel: as
// many as the virtual channel has credits, because a returned credit confirms the oldest packet. So
// every packet has its place in advance, and keeping it is a copy: a short payload goes into the
// cache line after its header, a longer one into a slot of its own.
//
// Owned by a LinkEnd. Memory is allocated only when the first packet of a virtual channel is kept.
#pragma once

#include <array>
#include <memory>

#include "base/assert.h"
#include "core/link/lanes.h"
#include "core/transport/api/channel.h"

namespace torusmp::core {

class Retained {
  public:
    // `credits` are those of the first `virtual_channels` virtual channels. `slot_bytes` is the
    // size of the longest payload.
    Retained(int virtual_channels, transport::CreditWord credits, std::size_t slot_bytes);

    struct alignas(64) Packet {
        transport::PacketHeader header{};
        const std::byte* payload = nullptr;  // header.length bytes, followed by the bytes to place
        std::uint64_t address = 0;           // where the latter belong, see Channel::send_placed()
        std::uint32_t key = 0;
        std::uint32_t placed = 0;          // the number of bytes to place
        std::array<std::byte, 64> near{};  // holds the payload if it fits

        transport::ConstBytes front() const { return {payload, header.length}; }
        transport::ConstBytes behind() const { return {payload + header.length, placed}; }
        transport::RemoteAddress target() const { return {address, key}; }
    };

    // Precondition, here and below: the packet has a credit.
    void keep(const transport::PacketHeader& header, transport::ConstBytes payload);
    void keep_placed(const transport::PacketHeader& header, transport::ConstBytes front,
                     transport::ConstBytes payload, const transport::RemoteAddress& target);
    // room() returns space for the payload of the next packet of a virtual channel; the function
    // after it keeps the packet that was packed there.
    std::byte* room(int virtual_channel) {
        VirtualChannel& it = of(virtual_channel);
        return far(it, it.next);
    }
    transport::ConstBytes keep_packed(const transport::PacketHeader& header);

    // Memory allocated for the packets.
    std::size_t bytes() const;
    // The number of packets sent so far.
    LaneCounts sent() const { return sent_; }
    // The packet that was sent `back` packets ago: 1 is the last.
    const Packet& back(int virtual_channel, unsigned back) const {
        const VirtualChannel& it = virtual_channels_[std::size_t(virtual_channel)];
        TORUSMP_ASSERT(it.packets != nullptr && back >= 1 && back <= it.count, virtual_channel,
                       back, it.count);
        return it.packets[(it.next + it.count - back) % it.count];
    }

  private:
    struct VirtualChannel {
        unsigned count = 0;
        unsigned next = 0;
        std::unique_ptr<Packet[]> packets;
        std::unique_ptr<std::byte[]> far;
    };

    VirtualChannel& of(int virtual_channel) {
        VirtualChannel& it = virtual_channels_[std::size_t(virtual_channel)];
        if (it.packets == nullptr) [[unlikely]]
            begin(it);
        return it;
    }
    void begin(VirtualChannel& it) const;
    std::byte* far(VirtualChannel& it, unsigned place) const {
        return it.far.get() + place * stride_;
    }
    Packet& take(VirtualChannel& it, const transport::PacketHeader& header) {
        TORUSMP_ASSERT(it.next < it.count, header.virtual_channel, it.next, it.count);
        Packet& packet = it.packets[it.next];
        it.next = it.next + 1 == it.count ? 0 : it.next + 1;
        sent_ = add_lanes(sent_, transport::credit_of(header.virtual_channel));
        packet.header = header;
        packet.placed = 0;
        return packet;
    }

    std::array<VirtualChannel, transport::max_virtual_channels> virtual_channels_;
    std::size_t stride_;
    LaneCounts sent_ = 0;
};

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
// Packets that arrived before their turn, because they took another path than those ahead of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/assert.h"
#include "core/commons.h"
#include "core/connection/peer.h"

namespace torusmp::core {

class ReorderBuffer {
  public:
    struct Packet {
        transport::PacketHeader header;
        std::vector<std::byte> payload;
    };

    explicit ReorderBuffer(int ranks) : by_peer_(std::size_t(ranks)) {}

    bool empty() const { return count_ == 0; }
    // Returns false for a packet that violates the protocol: a duplicate, or one too far ahead.
    bool keep(const Peer& peer, const transport::PacketHeader& header, const std::byte* payload) {
        const std::uint32_t ahead = header.sequence - peer.receive_sequence;
        if (ahead > window) return false;
        const bool kept =
            by_peer_[std::size_t(peer.rank)]
                .try_emplace(header.sequence, Packet{header, std::vector<std::byte>(
                                                                 payload, payload + header.length)})
                .second;
        if (kept) ++count_;
        return kept;
    }
    // The packet whose turn it is, if it has arrived.
    std::optional<Packet> take_next(const Peer& peer) {
        auto& packets = by_peer_[std::size_t(peer.rank)];
        const auto next = packets.find(peer.receive_sequence);
        if (next == packets.end()) return std::nullopt;
        std::optional<Packet> packet(std::move(next->second));
        TORUSMP_ASSERT(count_ >= packets.size(), peer.rank, count_, packets.size());
        packets.erase(next);
        --count_;
        return packet;
    }
    std::size_t waiting(const Peer& peer) const { return by_peer_[std::size_t(peer.rank)].size(); }

  private:
    // The largest distance ahead of its turn at which a packet may arrive. A correct peer never has
    // more packets in flight to one rank.
    static constexpr std::uint32_t window = 1u << 16;

    std::vector<std::map<std::uint32_t, Packet>> by_peer_;  // by sequence
    std::size_t count_ = 0;
};

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
// Packets that came before their turn, over another path than those ahead of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

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
    // False: no peer that follows the protocol sends this.
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
    // The packet whose turn it is, if it is here.
    std::optional<Packet> take_next(const Peer& peer) {
        auto& packets = by_peer_[std::size_t(peer.rank)];
        const auto next = packets.find(peer.receive_sequence);
        if (next == packets.end()) return std::nullopt;
        std::optional<Packet> packet(std::move(next->second));
        packets.erase(next);
        --count_;
        return packet;
    }
    std::size_t waiting(const Peer& peer) const { return by_peer_[std::size_t(peer.rank)].size(); }

  private:
    // How far ahead of its turn a packet may come. A peer with more than this in flight to one rank
    // is out of its mind.
    static constexpr std::uint32_t window = 1u << 16;

    std::vector<std::map<std::uint32_t, Packet>> by_peer_;  // by sequence
    std::size_t count_ = 0;
};

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
// Packets that arrived at a link's end by a detour and that core does not take yet. Each occupies
// the slot of its credit, so a virtual channel has at most as many as the far end has credits.
//
// Owned by a LinkEnd and used under the Runtime's lock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "core/transport/api/channel.h"

namespace torusmp::core {

class ArrivedPackets {
  public:
    // Passes a packet of `channel` to core, or keeps it if core does not take it. Returns false if
    // `most` packets of its virtual channel are kept already.
    bool deliver(transport::Channel& channel, transport::Sink& sink,
                 const transport::PacketHeader& header, const std::byte* payload,
                 std::size_t most) {
        auto& kept = kept_[header.virtual_channel];
        if (kept.empty() && sink.on_packet(channel, header, payload) == transport::Verdict::taken)
            return true;
        if (kept.size() >= most) return false;
        kept.push_back({header, {payload, payload + header.length}});
        return true;
    }
    // Offers core the kept packets, in their order. Returns true if it has taken one.
    bool offer(transport::Channel& channel, transport::Sink& sink) {
        bool moved = false;
        for (auto& kept : kept_)
            while (!kept.empty()) {
                // Removed first, because core may clear this meanwhile.
                const unsigned clears = clears_;
                Packet packet = std::move(kept.front());
                kept.pop_front();
                if (sink.on_packet(channel, packet.header, packet.payload.data()) ==
                    transport::Verdict::held) {
                    if (clears == clears_) kept.push_front(std::move(packet));
                    break;
                }
                moved = true;
            }
        return moved;
    }
    void clear() {
        for (auto& kept : kept_) kept.clear();
        ++clears_;
    }
    bool empty() const {
        return std::all_of(kept_.begin(), kept_.end(), [](const auto& it) { return it.empty(); });
    }
    std::size_t size(int virtual_channel) const {
        return kept_[std::size_t(virtual_channel)].size();
    }

  private:
    struct Packet {
        transport::PacketHeader header;
        std::vector<std::byte> payload;
    };
    std::array<std::deque<Packet>, transport::max_virtual_channels> kept_;
    unsigned clears_ = 0;
};

}  // namespace torusmp::core

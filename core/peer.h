// What a rank knows of another: the way there, the sequence numbers both ways, and what the
// protocols remember between packets.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/connection.h"
#include "core/flow.h"

namespace torusmp::core {

// A receive that the peer has posted and told us of: the memory our next matching large message
// may be written to.
struct Announcement {
    Context context;
    Tag tag;
    std::uint32_t landing;
    std::uint64_t bytes;
    transport::RemoteMemory memory;
};

// A packet that came before its turn.
struct Stashed {
    transport::PacketHeader header;
    std::vector<std::byte> payload;
};

// What announcing needs, made with the first message that is matched by tag.
struct MatchState {
    // The last messages sent, to tell whether one of them crosses an announcement.
    static constexpr std::uint32_t log_size = 64;
    struct Sent {
        Context context;
        Tag tag;
        bool taken;  // by an announcement it crossed
    };
    std::array<Sent, log_size> log{};
    std::uint32_t sent = 0;  // matched messages sent so far
    std::uint32_t seen = 0;  // and got, in order

    std::vector<Announcement> held;  // the peer's, oldest first
    std::uint32_t held_epoch = 0;    // announcements of earlier epochs are void

    std::uint32_t announced = 0;  // ours that the peer may hold
    std::uint32_t epoch = 0;      // of the announcements we make
};

struct Peer {
    Rank rank = -1;
    Connection* via = nullptr;       // null: not opened yet
    Connection* onward = nullptr;    // the link by which packets of others are relayed to it
    Connection* comes_by = nullptr;  // where its packets arrive; elsewhere they are forged
    // Links, by index, over which a large message to the peer may be spread (none: `via` alone),
    // and over which the peer's may arrive; the latter is worked out when the first comes.
    std::uint16_t ways_out = 0;
    std::uint16_t ways_in = 0;
    // The port of the peer by which packets arrive that leave by our link of that index, plus one;
    // 0: not worked out yet.
    std::array<std::uint8_t, 2 * routing::max_dimensions> far_ports{};
    // What lets others put the peer's large messages into our memory on their last hop; null: none.
    transport::Interface* placing = nullptr;
    std::uint8_t unlike = 0;  // dimensions, by bit, in which its coordinate is not ours
    std::uint32_t send_sequence = 0;
    std::uint32_t receive_sequence = 0;  // the next one to be handled
    bool dead = false;
    std::string why;  // it is dead

    std::vector<ReceiveFlow*> receive_labels;  // the peer's labels of flows it sends on
    std::vector<SendFlow*> send_labels;        // and of flows it receives on
    std::vector<std::unique_ptr<SendFlow>> send_flows;
    std::vector<std::unique_ptr<ReceiveFlow>> receive_flows;

    std::unique_ptr<MatchState> match;
    std::map<std::uint32_t, Stashed> stash;  // by sequence

    MatchState& matching() {
        if (match == nullptr) match = std::make_unique<MatchState>();
        return *match;
    }
};

}  // namespace torusmp::core

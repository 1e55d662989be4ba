// SPDX-License-Identifier: BSD-3-Clause
// What core's packets mean, and the bodies of those that are not user payload.
//
// Sequenced kinds take a number in the stream from source to destination and are handled in that
// order, whatever paths they came by. The others refer to an id and may come at any time.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/transport/api/channel.h"

namespace torusmp::core {

enum class PacketKind : std::uint8_t {
    none,
    // sequenced
    eager,       // a whole message; context and tag match it
    rts,         // RtsBody: a message waits at the sender; context and tag match it
    matched,     // MatchedBody: the sender took our announced or ready memory for its message
    rtr,         // RtrBody: a posted receive, sent ahead to the sender
    refuse,      // EpochBody: announcements could not be placed, all since are void
    withdraw,    // ReceiveHandleBody: a receive is to be cancelled, give its announcement back
    withdrawn,   // WithdrawnBody: the answer
    retract,     // SendHandleBody: a send is to be cancelled, forget its request
    flow_open,   // FlowOpenBody: what the label in `context` means from now on
    flow_eager,  // a whole message of the flow labelled `context`
    flow_rts,    // RtsBody, for the flow labelled `context`
    flow_rtr,    // FlowRtrBody: a started receive of the flow labelled `context`
    // by id
    cts,        // CtsBody: the answer to a request: write here
    data,       // DataBody + payload for a receive handle
    written,    // WrittenBody: a remote write is complete
    fin,        // SendHandleBody: the receiver has read the message
    retracted,  // SendHandleBody: the request is forgotten, no receive had met it
    note,       // for the reader of its context: see NoteReader
    link_dead,  // LinkBody: spread from neighbour to neighbour
    last_kind = link_dead
};

constexpr bool is_sequenced(PacketKind kind) {
    return kind >= PacketKind::eager && kind <= PacketKind::flow_rtr;
}

// What may come by any shortest path: parts of messages that are spread over several links, and
// messages that name the link they take.
constexpr bool is_spread(PacketKind kind) {
    return kind == PacketKind::data || kind == PacketKind::written || kind == PacketKind::eager ||
           kind == PacketKind::matched;
}

struct RtsBody {
    std::uint32_t send_handle;
    std::uint32_t ordinal;           // flows: the sender's count
    std::uint64_t bytes;             // of the message
    transport::RemoteMemory memory;  // where it may be read; length 0: nowhere
};
struct CtsBody {
    std::uint32_t send_handle;
    std::uint32_t receive_handle;
    transport::RemoteMemory memory;
};
struct MatchedBody {
    std::uint32_t receive_handle;
    std::uint32_t whole;  // 1: every byte is in place already; 0: bytes may come before or after
    std::uint64_t bytes;
};
struct RtrBody {
    std::uint32_t receive_handle;
    std::uint32_t epoch;
    std::uint32_t seen;  // matched messages from the sender that the receiver had got
    std::uint32_t unused;
    std::uint64_t bytes;  // room in the receive
    transport::RemoteMemory memory;
};
struct EpochBody {
    std::uint32_t epoch;  // the first one that counts again
    std::uint32_t unused;
};
struct ReceiveHandleBody {
    std::uint32_t receive_handle;
    std::uint32_t unused;
};
struct WithdrawnBody {
    std::uint32_t receive_handle;
    std::uint32_t found;
};
struct FlowOpenBody {
    std::uint32_t context;
    std::uint32_t kind;
    std::uint32_t from_sender;  // 1: the label's owner sends on the flow, 0: it receives
    std::uint32_t unused;
};
struct FlowRtrBody {
    std::uint32_t receive_handle;
    std::uint32_t ordinal;
    std::uint64_t bytes;  // room in the receive
    transport::RemoteMemory memory;
};
struct DataBody {
    std::uint32_t receive_handle;
    // 0: the bytes are behind this body; else so many of them were written to the receive handle by
    // the last relay, ahead of this packet, and nothing is behind it.
    std::uint32_t placed;
    std::uint64_t offset;
    // Where the last relay may put the bytes: valid for the link by which they arrive. Key 0:
    // nowhere.
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    std::uint32_t unused = 0;
};
struct WrittenBody {
    std::uint32_t receive_handle;
    std::uint32_t parts;  // writes that carry the message; each is followed by this on its link
};
struct SendHandleBody {
    std::uint32_t send_handle;
    std::uint32_t unused;
};
// It is followed by a text that says who saw it die, and how.
inline constexpr std::size_t longest_sight = 240;
struct LinkBody {
    std::uint32_t rank;       // the end that saw it die
    std::uint32_t direction;  // routing::Direction::index() out of that rank
};

static_assert(sizeof(RtsBody) == 88 && sizeof(CtsBody) == 80 && sizeof(MatchedBody) == 16);
static_assert(sizeof(RtrBody) == 96 && sizeof(FlowRtrBody) == 88 && sizeof(DataBody) == 32);
static_assert(sizeof(EpochBody) == 8 && sizeof(ReceiveHandleBody) == 8 &&
              sizeof(WithdrawnBody) == 8);
static_assert(sizeof(FlowOpenBody) == 16 && sizeof(WrittenBody) == 8);
static_assert(sizeof(SendHandleBody) == 8 && sizeof(LinkBody) == 8);

// Reads a body out of a payload; false if the packet is too short for it.
template <class Body>
bool read_body(const transport::PacketHeader& header, const std::byte* payload, Body& body) {
    if (header.length < sizeof(Body)) return false;
    std::memcpy(&body, payload, sizeof(Body));
    return true;
}

}  // namespace torusmp::core

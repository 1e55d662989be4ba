// SPDX-License-Identifier: BSD-3-Clause
// The meaning of core's packets, and the bodies of those that are not user payload.
//
// Sequenced kinds have a number in the stream from source to destination and are handled in that
// order, over whatever paths they arrive. The others refer to an id and may arrive at any time.
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
    matched,     // MatchedBody, and perhaps the first bytes: the sender took our announced or ready
                 // memory for its message
    rtr,         // RtrBody: a posted receive, sent ahead to the sender
    refuse,      // EpochBody: announcements were refused; all made since then are void
    withdraw,    // ReceiveHandleBody: a receive is being cancelled; return its announcement
    withdrawn,   // WithdrawnBody: the answer to withdraw
    retract,     // RetractBody: a send is being cancelled; forget its request
    hold,        // HoldBody: whether the sender holds its messages until a receive asks for them
    flow_open,   // FlowOpenBody: the meaning of the label in `context` from now on
    flow_eager,  // a whole message of the flow labelled `context`
    flow_rts,    // RtsBody, for the flow labelled `context`
    flow_rtr,    // FlowRtrBody: a started receive of the flow labelled `context`
    // by id
    cts,            // CtsBody: the answer to an RTS: write the message here
    data,           // DataBody + payload for a receive handle
    written,        // WrittenBody: a remote write is complete
    fin,            // SendHandleBody: the receiver has read the message
    retracted,      // SendHandleBody: the request is forgotten; no receive had matched it
    note,           // for the NoteReader of its context
    window_ask,     // AskBody of core/rma/packets.h: an access to a window of this rank
    window_answer,  // AnswerBody: its result, or that it is done
    agreement,      // a wave of an agreement among the members of a group (core/survivors/)
    revoke,         // the group of the context is revoked
    link_dead,      // LinkBody: spread from neighbour to neighbour
    receipt,        // what a FarEnd has taken; nothing but its envelope
    last_kind = receipt
};

constexpr bool is_sequenced(PacketKind kind) {
    return kind >= PacketKind::eager && kind <= PacketKind::flow_rtr;
}

// Whether the kind may arrive by any shortest path: parts of messages that are spread over several
// links, and messages that name their link.
constexpr bool is_spread(PacketKind kind) {
    return kind == PacketKind::data || kind == PacketKind::written || kind == PacketKind::eager ||
           kind == PacketKind::matched;
}

struct RtsBody {
    std::uint32_t send_handle;
    std::uint32_t ordinal;  // the sender's count, in a flow
    std::uint64_t bytes;    // of the message
    // Where the message may be read; length 0 if it may not be read.
    transport::RemoteMemory memory;
};
struct CtsBody {
    std::uint32_t send_handle;
    std::uint32_t receive_handle;
    std::uint32_t converging;  // 1 if large messages of many ranks arrive there
    std::uint32_t unused;
    transport::RemoteMemory memory;
};
struct MatchedBody {
    std::uint32_t receive_handle;
    std::uint32_t
        whole;  // 1 if every byte is already in place; 0 if bytes may arrive before or after
    std::uint64_t bytes;
};
struct RtrBody {
    std::uint32_t receive_handle;
    std::uint32_t epoch;
    std::uint32_t seen;        // matched messages of the sender that the receiver had received
    std::uint32_t converging;  // as in CtsBody
    std::uint64_t bytes;       // room in the receive
    transport::RemoteMemory memory;
};
struct EpochBody {
    std::uint32_t epoch;  // the first epoch that is valid again
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
struct HoldBody {
    std::uint32_t hold;  // 1 to hold messages, 0 to send small ones whole again
    std::uint32_t unused;
};
struct FlowOpenBody {
    std::uint32_t context;
    std::uint32_t kind;
    std::uint32_t from_sender;  // 1 if the label's owner sends on the flow, 0 if it receives
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
    // 0 if the bytes follow this body; otherwise the last relay has written this many of them to
    // the receive handle, ahead of this packet, and nothing follows.
    std::uint32_t placed;
    std::uint64_t offset;
    // Where the last relay may place the bytes; valid for the link by which they arrive. Key 0:
    // nowhere.
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    std::uint32_t unused = 0;
};
struct WrittenBody {
    std::uint32_t receive_handle;
    std::uint32_t parts;  // writes that carry the message; one such packet follows each on its link
};
struct SendHandleBody {
    std::uint32_t send_handle;
    std::uint32_t unused;
};
struct RetractBody {
    std::uint32_t send_handle;
    std::uint32_t abandoned;  // 1: the request keeps its place, and no receive gets the message
};
// The body is followed by a text: the rank that saw the link die, and what it saw.
inline constexpr std::size_t longest_sight = 240;
struct LinkBody {
    std::uint32_t rank;       // the end that saw it die
    std::uint32_t direction;  // routing::Direction::index() out of that rank
};
// Follows the payload of a packet between two ranks that are not neighbours, in a job that
// continues after deaths. The destination removes it; relays only read it.
struct Envelope {
    std::uint32_t number;  // of the packet, among those to its destination; unused in a receipt
    std::uint32_t taken;   // the packets that the source has taken from the destination
    std::uint32_t deaths;  // those of which the source knew when it sent the packet
    std::uint32_t unused;
};

static_assert(sizeof(RtsBody) == 88 && sizeof(CtsBody) == 88 && sizeof(MatchedBody) == 16);
static_assert(sizeof(RtrBody) == 96 && sizeof(FlowRtrBody) == 88 && sizeof(DataBody) == 32);
static_assert(sizeof(EpochBody) == 8 && sizeof(ReceiveHandleBody) == 8 &&
              sizeof(WithdrawnBody) == 8);
static_assert(sizeof(FlowOpenBody) == 16 && sizeof(WrittenBody) == 8);
static_assert(sizeof(SendHandleBody) == 8 && sizeof(RetractBody) == 8);
static_assert(sizeof(LinkBody) == 8 && sizeof(HoldBody) == 8);
static_assert(sizeof(Envelope) == 16);

// Reads a body from a payload. Returns false if the packet is too short for it.
template <class Body>
bool read_body(const transport::PacketHeader& header, const std::byte* payload, Body& body) {
    if (header.length < sizeof(Body)) return false;
    std::memcpy(&body, payload, sizeof(Body));
    return true;
}
inline bool read_envelope(const transport::PacketHeader& header, const std::byte* payload,
                          Envelope& envelope) {
    if (header.length < sizeof envelope) return false;
    std::memcpy(&envelope, payload + header.length - sizeof envelope, sizeof envelope);
    return true;
}

}  // namespace torusmp::core

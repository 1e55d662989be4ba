// SPDX-License-Identifier: BSD-3-Clause
#include "core/relay/relay.h"

namespace torusmp::core {

using transport::PacketHeader;
using transport::Verdict;

Verdict Relay::pass_on(Connection& in, const PacketHeader& header, const std::byte* payload) {
    const Peer& destination = connections_.peer(Rank(header.destination));
    // Stays in its dimension until that is finished, whatever its source chose to begin with.
    Connection* out = in.link && (destination.unlike >> in.link->dimension & 1) != 0
                          ? connections_.link(in.link->opposite())
                          : destination.onward;
    // A packet of our own never comes back to us: whoever sends one forges our name.
    if (!in.link || out == nullptr || header.source == std::uint32_t(commons_.rank())) {
        faults_.close(in, Error::protocol, "a packet that this rank does not relay");
        return Verdict::taken;
    }
    // What cannot be delivered any more is dropped; its ends learn of the dead link. That we cannot
    // talk to the destination is no reason to drop it: our way back from it may be the dead one.
    if (out->down) return Verdict::taken;

    const bool turns = out->link->dimension != in.link->dimension;
    const int virtual_channel = header.virtual_channel + (turns ? 1 : 0);
    if (virtual_channel >= out->virtual_channels) {
        faults_.close(in, Error::protocol, "a packet off its shortest-direction-first path");
        return Verdict::taken;
    }
    const unsigned needed = turns ? out->credits_to_turn : 1;
    if (transport::credits_in(out->credits, virtual_channel) < needed) {
        sender_.collect_grants(*out);
        if (out->down) return Verdict::taken;
        if (transport::credits_in(out->credits, virtual_channel) < needed) {
            if ((in.held & (1u << header.virtual_channel)) == 0) ++out->statistics.credit_waits;
            return Verdict::held;
        }
    }
    PacketHeader onward = header;
    onward.virtual_channel = std::uint8_t(virtual_channel);
    ++onward.hops;
    if (in.interface != out->interface) onward.stamp = 0;  // it means something else there
    if (!into_place(*out, onward, payload))
        sender_.transmit(*out, onward, {payload, header.length});
    out->statistics.count_relayed(onward.length);
    return Verdict::taken;
}

// The last hop of a piece of a large message whose receiver has named a place for it; false: it has
// not, or this is not the last hop.
bool Relay::into_place(Connection& out, PacketHeader& header, const std::byte* payload) {
    DataBody body;
    if (header.destination != std::uint32_t(out.peer) ||
        PacketKind(header.kind) != PacketKind::data || !out.channel->can().places ||
        !read_body(header, payload, body) || body.key == 0 || body.placed != 0 ||
        header.length == sizeof body)
        return false;
    const transport::ConstBytes bytes{payload + sizeof body, header.length - sizeof body};
    const transport::RemoteAddress target{body.address, body.key};
    body.placed = std::uint32_t(bytes.size());
    header.length = sizeof body;
    header.stamp = 0;  // it may have covered the payload
    ++out.statistics.placed;
    out.statistics.bytes_written += bytes.size();
    sender_.take_credit(out, header);
    out.channel->send_placed(header, std::as_bytes(std::span(&body, 1)), bytes, target);
    return true;
}

}  // namespace torusmp::core

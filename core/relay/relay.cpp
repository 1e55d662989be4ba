// SPDX-License-Identifier: BSD-3-Clause
#include "core/relay/relay.h"

#include <fmt/format.h>

#include <utility>

#include "base/assert.h"
#include "routing/ways.h"

namespace torusmp::core {

using transport::PacketHeader;
using transport::Verdict;

// The link on which a packet that has come over our link `port` leaves towards a rank.
Connection* Relay::onward(Rank destination, routing::Direction port) {
    if (const auto* const living = far_ends_.living())
        return connections_.link(living->next_hop(commons_.rank(), destination)->direction);
    if (onward_.empty()) onward_.resize(std::size_t(connections_.size()));
    std::uint8_t& link = onward_[std::size_t(destination)][std::size_t(port.index())];
    if (link == 0)
        link = std::uint8_t(1 + routing::direction_after(commons_.torus(), commons_.rank(),
                                                         destination, port.opposite())
                                    .index());
    return connections_.links()[link - 1u];
}

// In a job that continues after deaths: why a packet is not forwarded now, if it is not.
std::optional<Verdict> Relay::stop(Connection& in, const PacketHeader& header,
                                   const std::byte* payload) {
    using Passage = FarEnds::Passage;
    const Passage passage = far_ends_.judge(header, payload);
    if (passage == Passage::forged)
        faults_.close(in, Error::protocol, "a packet without a valid envelope");
    if (passage == Passage::ahead) return Verdict::held;
    if (passage != Passage::free) return Verdict::taken;
    // Ranks that have learned of different deaths may send a packet in a circle, until they know of
    // the same. Nothing is lost: its source sends it again.
    if (const auto* const living = far_ends_.living(); living != nullptr)
        if (header.source == std::uint32_t(commons_.rank()) ||
            !living->joins(commons_.rank(), Rank(header.destination)))
            return Verdict::taken;
    return std::nullopt;
}

Verdict Relay::pass_on(Connection& in, const PacketHeader& header, const std::byte* payload) {
    if (far_ends_.in_use())
        if (const auto verdict = stop(in, header, payload)) return *verdict;
    const Peer& destination = connections_.peer(Rank(header.destination));
    Connection* out = in.link ? onward(destination.rank, *in.link) : nullptr;
    if (out == nullptr) {
        faults_.close(in, Error::protocol, "a packet that this rank does not relay");
        return Verdict::taken;
    }
    // A packet of this rank never returns here: it is forged, by any of those that could send it.
    if (header.source == std::uint32_t(commons_.rank())) {
        if (!std::exchange(in.misled, true))
            commons_.log(fmt::format("{} received a packet in the name of this rank; dropped",
                                     commons_.name_of(in)));
        return Verdict::taken;
    }
    // Packets that can no longer be delivered are dropped; their ends learn of the dead link. That
    // this rank cannot communicate with the destination is not a reason to drop a packet: only our
    // path back from it may be dead.
    if (out->down()) return Verdict::taken;

    const bool torus = far_ends_.living() == nullptr;
    TORUSMP_ASSERT(out != &in || !torus, commons_.rank(), in.peer, header.source,
                   header.destination);
    const bool turns = torus && (in.turns >> out->link->index() & 1) != 0;
    const int virtual_channel = header.virtual_channel + (turns ? 1 : 0);
    if (virtual_channel >= out->virtual_channels) {
        faults_.close(in, Error::protocol, "a packet that is not on a path of the links");
        return Verdict::taken;
    }
    const unsigned needed = out->credits.to_relay(turns);
    if (out->credits.granted(virtual_channel) < needed) {
        sender_.collect_grants(*out);
        if (out->down()) return Verdict::taken;
        if (out->credits.granted(virtual_channel) < needed) {
            if (!in.held.on(header.virtual_channel)) ++out->statistics.credit_waits;
            return Verdict::held;
        }
    }
    TORUSMP_ASSERT(out->credits.granted(virtual_channel) >= needed, commons_.rank(), out->peer,
                   virtual_channel, needed, out->credits.granted());
    PacketHeader onward = header;
    onward.virtual_channel = std::uint8_t(virtual_channel);
    ++onward.hops;
    if (in.interface != out->interface) onward.stamp = 0;  // the stamp has another meaning there
    if (!into_place(*out, onward, payload))
        sender_.transmit(*out, onward, {payload, header.length});
    out->statistics.count_relayed(onward.length);
    return Verdict::taken;
}

// Places a piece of a large message on its last hop, if the receiver has named a place for it.
// Returns false if it has not, or if this is not the last hop.
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

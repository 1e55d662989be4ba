// SPDX-License-Identifier: BSD-3-Clause
#include "core/dispatch/packet_trace.h"

#include <array>

#include "base/trace.h"
#include "core/connection/connection.h"
#include "core/link/frames.h"

namespace torusmp::core {

using transport::PacketHeader;
using transport::Verdict;

namespace {

const Connection& carrier_of(const transport::Channel& channel) {
    return *static_cast<const Connection*>(channel.owner);
}

}  // namespace

std::string_view kind_name(std::uint8_t kind) {
    static constexpr std::array<std::string_view, std::size_t(PacketKind::last_kind) + 1> names{
        "none",      "eager",     "rts",        "matched",       "rtr",       "refuse",
        "withdraw",  "withdrawn", "retract",    "hold",          "flow_open", "flow_eager",
        "flow_rts",  "flow_rtr",  "cts",        "data",          "written",   "fin",
        "retracted", "note",      "window_ask", "window_answer", "agreement", "revoke",
        "link_dead", "receipt"};
    if (kind < names.size()) return names[kind];
    const auto frame = LinkFrame(kind);
    const bool link = frame >= LinkFrame::news && frame <= LinkFrame::detour;
    return link ? "link frame" : "unknown";
}

transport::Sink& PacketTrace::sink() {
    return base::traces(base::TraceModule::packet, base::TraceLevel::trace) ? *this : next_;
}

Verdict PacketTrace::on_packet(transport::Channel& channel, const PacketHeader& header,
                               const std::byte* payload) {
    // A copy: the slot of the packet may be in use again when the dispatcher returns.
    const PacketHeader copy = header;
    const Rank by = carrier_of(channel).peer;
    TORUSMP_TRACE(packet, trace, commons_.rank(),
                  "arrived by {}: {} number {} from {} to {}, {} B, virtual channel {}, context "
                  "{}, tag {}",
                  by, kind_name(copy.kind), copy.sequence, copy.source, copy.destination,
                  copy.length, copy.virtual_channel, copy.context, copy.tag);
    const Verdict verdict = next_.on_packet(channel, header, payload);
    if (verdict == Verdict::held)
        TORUSMP_TRACE(packet, trace, commons_.rank(), "holds {} number {} from {} to {}",
                      kind_name(copy.kind), copy.sequence, copy.source, copy.destination);
    return verdict;
}

void PacketTrace::on_notice(transport::Channel& channel, std::uint64_t notice) {
    TORUSMP_TRACE(packet, trace, commons_.rank(), "remote write of {} is complete, notice {:#x}",
                  carrier_of(channel).peer, notice);
    next_.on_notice(channel, notice);
}

void PacketTrace::on_transfer(transport::Channel& channel, std::uint64_t cookie, bool ok) {
    TORUSMP_TRACE(packet, trace, commons_.rank(), "transfer {:#x} with {} has {}", cookie,
                  carrier_of(channel).peer, ok ? "ended" : "failed");
    next_.on_transfer(channel, cookie, ok);
}

void PacketTrace::on_connect(std::uint32_t port) {
    TORUSMP_TRACE(packet, trace, commons_.rank(), "a peer connects to port {}", port);
    next_.on_connect(port);
}

void PacketTrace::on_down(transport::Channel& channel, std::string_view why) {
    TORUSMP_TRACE(packet, trace, commons_.rank(), "the channel to {} is down: {}",
                  carrier_of(channel).peer, why);
    next_.on_down(channel, why);
}

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
#include "core/declared/declared_channels.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"

namespace torusmp::core {

using transport::PacketHeader;

namespace {

// The most receives started ahead of their sends that a peer may announce to us.
constexpr std::size_t most_ready = 1u << 16;

bool before(std::uint32_t a, std::uint32_t b) {
    return std::int32_t(a - b) < 0;
}

}  // namespace

DeclaredChannels::~DeclaredChannels() {
    for (const Flows& flows : peers_)
        for (const auto& flow : flows.receives)
            while (Unexpected* message = flow->take_unexpected()) store_.drop(*message);
}

template <class Flow>
Flow& DeclaredChannels::open(std::vector<std::unique_ptr<Flow>>& flows, Rank peer, FlowKey key,
                             bool sends) {
    for (const auto& flow : flows)
        if (flow->key == key) return *flow;
    flows.push_back(std::make_unique<Flow>(peer, key, std::uint32_t(flows.size())));
    Flow& flow = *flows.back();
    TORUSMP_ASSERT(flows[flow.label].get() == &flow, commons_.rank(), peer, flow.label);
    sender_.send(connections_.peer(peer), PacketKind::flow_open,
                 FlowOpenBody{key.context, key.kind, sends ? 1u : 0u, 0}, flow.label);
    return flow;
}

SendFlow& DeclaredChannels::open_send(Rank dest, FlowKey key) {
    return open(with(dest).sends, dest, key, true);
}

ReceiveFlow& DeclaredChannels::open_receive(Rank source, FlowKey key) {
    return open(with(source).receives, source, key, false);
}

void DeclaredChannels::start(SendFlow& flow, SendRequest& request, Buffer buffer, bool followed) {
    commons_.open(request, buffer, flow.dest);
    Peer& peer = connections_.peer(flow.dest);
    TORUSMP_ASSERT(request.stage() == SendRequest::Stage::idle && request.send_handle_ == 0,
                   commons_.rank(), flow.dest, flow.label, request.stage());
    request.flow_ = &flow;
    request.link_ = nullptr;
    request.ordinal_ = flow.started++;
    if (peer.dead) return sends_.finish(request, Error::unreachable);
    Connection& connection = connections_.to(peer);

    while (!flow.ready.empty() && before(flow.ready.front().ordinal, request.ordinal_))
        flow.ready.pop_front();
    const bool awaited = !flow.ready.empty() && flow.ready.front().ordinal == request.ordinal_;
    if (awaited) {
        const Ready ready = flow.ready.front();
        flow.ready.pop_front();
        const bool cheap = ready.memory.length != 0 && connection.peer == peer.rank &&
                           connection.channel->can_write(ready.memory);
        if (buffer.bytes <= ready.bytes && buffer.bytes != 0 &&
            (!commons_.options.is_eager(buffer.bytes) ||
             (cheap && buffer.bytes >= commons_.options.direct_limit)))
            return writes_.begin(request, {ready.receive_handle, ready.memory}, true);
    }
    if (commons_.options.is_eager(buffer.bytes) &&
        (awaited || !messages_.waits_here(peer, buffer.bytes))) {
        Connection& way = connections_.way(peer);
        if (!sender_.may_leave(way))
            return peer.dead ? sends_.finish(request, Error::unreachable)
                             : messages_.queue(request, peer, way);
        PacketHeader header = sender_.header_to(peer, PacketKind::flow_eager, buffer.bytes);
        header.sequence = peer.send_sequence++;
        header.context = flow.label;
        if (followed) way.channel->cork();
        sender_.transmit_message(way, header, buffer);
        return sends_.finish(request);
    }
    flow.wait(request);
    rendezvous_.ask(request, peer);
}

void DeclaredChannels::start(ReceiveFlow& flow, ReceiveRequest& request, Buffer buffer) {
    commons_.open(request, buffer, flow.source);
    request.flow_ = &flow;
    // A flow has started receives or unexpected messages, never both.
    TORUSMP_ASSERT(flow.first == nullptr || flow.unexpected == nullptr, commons_.rank(),
                   flow.source, flow.label, flow.started);
    const std::uint32_t ordinal = flow.started++;
    if (Unexpected* message = flow.take_unexpected()) return messages_.take(request, *message);
    Peer& peer = connections_.peer(flow.source);
    if (peer.dead) return commons_.complete(request, Error::unreachable);
    flow.start(request);
    if (buffer.bytes < commons_.options.direct_limit || buffer.bytes == 0) return;
    const transport::RemoteMemory memory = receives_.open(request, peer);
    // For an eager message an RTR pays only if the sender can store right into our memory.
    if (commons_.options.is_eager(buffer.bytes) &&
        (request.exposed_at_ == nullptr || !request.exposed_at_->is_mapped(memory))) {
        receives_.close(request);
        return;
    }
    sender_.send(peer, PacketKind::flow_rtr,
                 FlowRtrBody{request.receive_handle_, ordinal, buffer.bytes, memory}, flow.label);
}

bool DeclaredChannels::on_open(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    FlowOpenBody body;
    if (!read_body(header, payload, body)) return false;
    const FlowKey key{body.context, body.kind};
    if (body.from_sender != 0) {
        if (header.context != with(peer.rank).receive_labels.size()) return false;
        with(peer.rank).receive_labels.push_back(&open_receive(peer.rank, key));
    } else {
        if (header.context != with(peer.rank).send_labels.size()) return false;
        with(peer.rank).send_labels.push_back(&open_send(peer.rank, key));
    }
    return true;
}

bool DeclaredChannels::on_eager(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    if (header.context >= with(peer.rank).receive_labels.size() ||
        !commons_.options.is_eager(header.length))
        return false;
    ReceiveFlow& flow = *with(peer.rank).receive_labels[header.context];
    ReceiveRequest* request = flow.take_started();
    if (request == nullptr) {
        flow.keep(store_.keep(peer, 0, 0, {payload, header.length}));
        return true;
    }
    messages_.deliver(*request, peer.rank, 0, payload, header.length);
    return true;
}

bool DeclaredChannels::on_rts(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    RtsBody body;
    if (header.context >= with(peer.rank).receive_labels.size() ||
        !read_body(header, payload, body))
        return false;
    ReceiveFlow& flow = *with(peer.rank).receive_labels[header.context];
    ReceiveRequest* request = flow.take_started();
    if (request == nullptr) {
        flow.keep(store_.keep(peer, 0, 0, body));
    } else if (request->receive_handle_ != 0 && body.bytes <= request->buffer_.bytes &&
               body.bytes != 0) {
        // Our RTR crossed this RTS: the sender will write to the memory that our RTR names.
        request->become(ReceiveRequest::Stage::crossed, commons_.rank());
        request->status_.source = peer.rank;
        request->expected_ = body.bytes;
    } else {
        rendezvous_.answer(*request, peer.rank, 0, body);
    }
    return true;
}

bool DeclaredChannels::on_rtr(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    FlowRtrBody body;
    if (header.context >= with(peer.rank).send_labels.size() || !read_body(header, payload, body))
        return false;
    SendFlow& flow = *with(peer.rank).send_labels[header.context];
    if (!before(body.ordinal, flow.started)) {
        if (flow.ready.size() >= most_ready) return false;
        flow.ready.push_back({body.receive_handle, body.ordinal, body.bytes, body.memory});
        return true;
    }
    // That send has started: it has sent an RTS and waits, or it was small and has left.
    for (SendRequest* r = flow.waiting; r != nullptr; r = r->next_waiting_) {
        if (r->ordinal_ != body.ordinal) continue;
        // The receiver detects this from our RTS, and ends the request.
        if (r->buffer_.bytes > body.bytes || r->buffer_.bytes == 0) return true;
        flow.stop_waiting(*r);
        writes_.begin(*r, {body.receive_handle, body.memory}, true);
        return true;
    }
    return true;
}

void DeclaredChannels::peer_lost(Peer& peer, Error error) {
    for (const auto& flow : with(peer.rank).receives)
        while (ReceiveRequest* request = flow->take_started()) {
            if (request->receive_handle_ != 0) receives_.close(*request);
            request->status_.source = peer.rank;
            commons_.complete(*request, error);
        }
}

void DeclaredChannels::report(Waits& waits) const {
    for (const Flows& flows : peers_)
        for (const auto& flow : flows.receives) {
            for (const ReceiveRequest* r = flow->first; r != nullptr; r = r->next_)
                waits.add(Waits::Operation{.kind = Waits::Operation::Kind::receive,
                                           .channel = true,
                                           .peer = flow->source,
                                           .context = flow->key.context,
                                           .bytes = r->buffer_.bytes,
                                           .id = static_cast<const Request*>(r)});
            for (const Unexpected* m = flow->unexpected; m != nullptr; m = m->next_in_flow)
                waits.add(Waits::Message{.channel = true,
                                         .at_sender = m->is_request,
                                         .source = flow->source,
                                         .context = flow->key.context,
                                         .bytes = m->bytes});
        }
}

}  // namespace torusmp::core

// Declared channels: the ends count their starts, and nothing is matched.
#include <algorithm>

#include "core/runtime.h"

namespace torusmp::core {

using transport::PacketHeader;

namespace {

// Receives started ahead of their sends that a peer may tell us of.
constexpr std::size_t most_ready = 1u << 16;

bool before(std::uint32_t a, std::uint32_t b) {
    return std::int32_t(a - b) < 0;
}

}  // namespace

SendFlow& Runtime::send_flow(Peer& peer, FlowKey key) {
    for (const auto& flow : peer.send_flows)
        if (flow->key == key) return *flow;
    peer.send_flows.push_back(
        std::make_unique<SendFlow>(peer.rank, key, std::uint32_t(peer.send_flows.size())));
    SendFlow& flow = *peer.send_flows.back();
    send_body(peer, PacketKind::flow_open, FlowOpenBody{key.context, key.kind, 1, 0}, flow.label);
    return flow;
}

ReceiveFlow& Runtime::receive_flow(Peer& peer, FlowKey key) {
    for (const auto& flow : peer.receive_flows)
        if (flow->key == key) return *flow;
    peer.receive_flows.push_back(
        std::make_unique<ReceiveFlow>(peer.rank, key, std::uint32_t(peer.receive_flows.size())));
    ReceiveFlow& flow = *peer.receive_flows.back();
    send_body(peer, PacketKind::flow_open, FlowOpenBody{key.context, key.kind, 0, 0}, flow.label);
    return flow;
}

SendFlow& Runtime::open_send_flow(Rank dest, Context context, std::uint32_t kind) {
    Guard guard(*this);
    return send_flow(peers_[dest], {context, kind});
}

ReceiveFlow& Runtime::open_receive_flow(Rank source, Context context, std::uint32_t kind) {
    Guard guard(*this);
    return receive_flow(peers_[source], {context, kind});
}

void Runtime::start(SendFlow& flow, SendRequest& request, Buffer buffer) {
    Guard guard(*this);
    open(request, buffer, flow.dest);
    Peer& peer = peers_[flow.dest];
    request.flow_ = &flow;
    request.link_ = nullptr;
    request.ordinal_ = flow.started++;
    if (peer.dead) return finish_send(request, Error::unreachable);
    Connection& connection = connection_to(peer);

    while (!flow.ready.empty() && before(flow.ready.front().ordinal, request.ordinal_))
        flow.ready.pop_front();
    if (!flow.ready.empty() && flow.ready.front().ordinal == request.ordinal_) {
        const Ready ready = flow.ready.front();
        flow.ready.pop_front();
        const bool cheap = ready.memory.length != 0 && connection.peer == peer.rank &&
                           connection.channel->can_write(ready.memory);
        if (buffer.bytes <= ready.bytes && buffer.bytes != 0 &&
            (buffer.bytes >= options_.eager_limit ||
             (cheap && buffer.bytes >= options_.direct_limit)))
            return begin_write(request, ready.landing, ready.memory, true);
    }
    if (buffer.bytes < options_.eager_limit) {
        if (connection.messages.empty() && may_enter(connection)) {
            PacketHeader header = header_to(peer, PacketKind::flow_eager, buffer.bytes);
            header.sequence = peer.send_sequence++;
            header.context = flow.label;
            transmit_message(connection, header, buffer);
            return finish_send(request);
        }
        request.stage_ = SendRequest::Stage::eager;
        request.sequence_ = peer.send_sequence++;
        return enqueue(connection, request, Lane::message);
    }
    request.next_waiting_ = nullptr;
    (flow.waiting == nullptr ? flow.waiting : flow.waiting_last->next_waiting_) = &request;
    flow.waiting_last = &request;
    ask(request, peer);
}

// Takes a send out of the list of those whose receive is not known.
void Runtime::stop_waiting(SendRequest& request) {
    if (request.flow_ == nullptr) return;
    SendFlow& flow = *request.flow_;
    SendRequest* previous = nullptr;
    for (SendRequest* r = flow.waiting; r != nullptr; previous = r, r = r->next_waiting_) {
        if (r != &request) continue;
        (previous == nullptr ? flow.waiting : previous->next_waiting_) = r->next_waiting_;
        if (flow.waiting_last == r) flow.waiting_last = previous;
        return;
    }
}

void Runtime::start(ReceiveFlow& flow, ReceiveRequest& request, Buffer buffer) {
    Guard guard(*this);
    open(request, buffer, flow.source);
    request.flow_ = &flow;
    const std::uint32_t ordinal = flow.started++;
    if (Unexpected* message = flow.unexpected) {
        flow.unexpected = message->next_in_flow;
        return take_unexpected(request, *message);
    }
    Peer& peer = peers_[flow.source];
    if (peer.dead) return complete(request, Error::unreachable);
    request.posted_ = true;
    request.next_ = nullptr;
    (flow.first == nullptr ? flow.first : flow.last->next_) = &request;
    flow.last = &request;
    if (buffer.bytes < options_.direct_limit || buffer.bytes == 0) return;
    const transport::RemoteMemory memory = open_landing(request, peer);
    // Below the eager limit telling pays only where the sender can store right into our memory.
    if (buffer.bytes < options_.eager_limit &&
        (request.exposed_at_ == nullptr || !request.exposed_at_->is_mapped(memory))) {
        close_landing(request);
        return;
    }
    send_body(peer, PacketKind::flow_ready,
              ReadyBody{request.landing_, ordinal, buffer.bytes, memory}, flow.label);
}

// Takes the oldest started receive off its flow; null where none is started.
ReceiveRequest* Runtime::next_started(ReceiveFlow& flow) {
    ReceiveRequest* request = flow.first;
    if (request == nullptr) return nullptr;
    flow.first = request->next_;
    if (flow.first == nullptr) flow.last = nullptr;
    request->posted_ = false;
    return request;
}

void Runtime::keep_in_flow(ReceiveFlow& flow, Unexpected& message) {
    message.next_in_flow = nullptr;
    (flow.unexpected == nullptr ? flow.unexpected : flow.unexpected_last->next_in_flow) = &message;
    flow.unexpected_last = &message;
}

bool Runtime::on_flow_open(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    FlowOpenBody body;
    if (!read_body(header, payload, body)) return false;
    const FlowKey key{body.context, body.kind};
    if (body.from_sender != 0) {
        if (header.context != peer.receive_labels.size()) return false;
        peer.receive_labels.push_back(&receive_flow(peer, key));
    } else {
        if (header.context != peer.send_labels.size()) return false;
        peer.send_labels.push_back(&send_flow(peer, key));
    }
    return true;
}

bool Runtime::on_flow_eager(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    if (header.context >= peer.receive_labels.size() ||
        header.length >= std::max<std::size_t>(options_.eager_limit, 1))
        return false;
    ReceiveFlow& flow = *peer.receive_labels[header.context];
    ReceiveRequest* request = next_started(flow);
    if (request == nullptr) {
        keep_in_flow(flow, make_unexpected(peer.rank, 0, 0, payload, header.length));
        return true;
    }
    if (request->landing_ != 0) close_landing(*request);
    finish_eager(*request, peer.rank, 0, payload, header.length);
    return true;
}

bool Runtime::on_flow_request(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    RequestBody body;
    if (header.context >= peer.receive_labels.size() || !read_body(header, payload, body))
        return false;
    ReceiveFlow& flow = *peer.receive_labels[header.context];
    ReceiveRequest* request = next_started(flow);
    if (request == nullptr) {
        keep_in_flow(flow, make_unexpected(peer.rank, 0, 0, body));
    } else if (request->landing_ != 0 && body.bytes <= request->buffer_.bytes) {
        // Our ready crossed this request: the sender will write where that says.
        request->crossed_ = true;
        request->status_.source = peer.rank;
        request->expected_ = body.bytes;
    } else {
        answer(*request, peer.rank, 0, body);
    }
    return true;
}

bool Runtime::on_flow_ready(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    ReadyBody body;
    if (header.context >= peer.send_labels.size() || !read_body(header, payload, body))
        return false;
    SendFlow& flow = *peer.send_labels[header.context];
    if (!before(body.ordinal, flow.started)) {
        if (flow.ready.size() >= most_ready) return false;
        flow.ready.push_back({body.landing, body.ordinal, body.bytes, body.memory});
        return true;
    }
    // That send has begun: it asked and waits, or it was small and is gone.
    for (SendRequest* r = flow.waiting; r != nullptr; r = r->next_waiting_) {
        if (r->ordinal_ != body.ordinal) continue;
        if (r->buffer_.bytes > body.bytes) return true;  // the receiver sees it in our request
        stop_waiting(*r);
        begin_write(*r, body.landing, body.memory, true);
        return true;
    }
    return true;
}

}  // namespace torusmp::core

// Packets, tokens and the queues of what waits for them.
#include <algorithm>

#include "core/runtime.h"
#include "routing/ways.h"

namespace torusmp::core {

using transport::PacketHeader;

// A packet of core's own that found no token, its body behind it; lives in the pool until it is
// sent.
class ControlMessage final : public Outgoing {
  public:
    explicit ControlMessage(const PacketHeader& of) : header(of) {}

    PacketHeader header;
    std::byte* body() { return reinterpret_cast<std::byte*>(this + 1); }

    bool emit(Runtime& runtime, Connection& connection) override {
        runtime.transmit(connection, header, {body(), header.length});
        drop(runtime, Error::none);
        return true;
    }
    void drop(Runtime& runtime, Error /*error*/) override {
        runtime.pool_.give(this, sizeof *this + header.length);
    }
};

PacketHeader Runtime::header_to(Peer& peer, PacketKind kind, std::size_t bytes) {
    PacketHeader header{};
    header.length = std::uint32_t(bytes);
    header.kind = std::uint8_t(kind);
    header.source = std::uint32_t(options_.rank);
    header.destination = std::uint32_t(peer.rank);
    return header;
}

namespace {

// Tokens that go home with a packet. On links they never do: the packet may have to wait behind one
// that is held until tokens come home which stand behind a held packet at the other end.
transport::TokenWord grants_for(Connection& connection) {
    return connection.link ? 0 : std::exchange(connection.owed, 0);
}

}  // namespace

// What every packet does as it leaves.
void Runtime::take_token(Connection& connection, PacketHeader& header) {
    header.grants = grants_for(connection);
    connection.tokens -= transport::token_of(header.slot_class);
    ++connection.statistics.packets_sent;
    connection.statistics.bytes_sent += header.length;
}

void Runtime::transmit(Connection& connection, PacketHeader& header,
                       transport::ConstBytes payload) {
    take_token(connection, header);
    connection.channel->send(header, payload);
}

void Runtime::transmit_packed(Connection& connection, PacketHeader& header,
                              transport::ConstBytes prefix, const Buffer& buffer, std::size_t from,
                              std::size_t bytes) {
    header.length = std::uint32_t(prefix.size() + bytes);
    take_token(connection, header);
    std::byte* slot = connection.channel->reserve(header.slot_class, header.length);
    std::copy(prefix.begin(), prefix.end(), slot);
    buffer.pack(from, slot + prefix.size(), bytes);
    connection.channel->commit(header);
}

void Runtime::transmit_message(Connection& connection, PacketHeader& header, const Buffer& buffer) {
    if (buffer.layout == nullptr)
        transmit(connection, header, {buffer.base, buffer.bytes});
    else
        transmit_packed(connection, header, {}, buffer, 0, buffer.bytes);
}

// A slot of ours is free again. Its token goes home with the next packet of a direct connection, or
// alone when half of the tokens are owed.
void Runtime::slot_taken(Connection& connection, int slot_class) {
    connection.owed += transport::token_of(slot_class);
    if (transport::tokens_in(connection.owed, slot_class) >= connection.grant_at[slot_class]) {
        ++connection.statistics.grants_sent;
        connection.channel->grant(std::exchange(connection.owed, 0));
    }
}

void Runtime::collect_grants(Connection& connection) {
    const transport::TokenWord grants = connection.channel->collect_grants();
    if (transport::grants_fit(connection.tokens, grants, connection.all_tokens))
        connection.tokens += grants;
    else
        close(connection, Error::protocol, "more tokens given back than were taken");
}

void Runtime::send_control(Peer& peer, PacketKind kind, transport::ConstBytes body,
                           std::uint32_t context, Tag tag) {
    if (!peer.dead) send_over(connection_to(peer), peer, kind, body, context, tag);
}

void Runtime::send_over(Connection& connection, Peer& peer, PacketKind kind,
                        transport::ConstBytes body, std::uint32_t context, Tag tag) {
    if (connection.down) return;
    PacketHeader header = header_to(peer, kind, body.size());
    if (is_sequenced(kind)) header.sequence = peer.send_sequence++;
    header.context = context;
    header.tag = tag;
    if (connection.messages.empty() && may_enter(connection)) {
        transmit(connection, header, body);
        return;
    }
    auto* message = ::new (pool_.take(sizeof(ControlMessage) + body.size())) ControlMessage(header);
    std::copy(body.begin(), body.end(), message->body());
    enqueue(connection, *message, Lane::message);
}

void Runtime::enqueue(Connection& connection, Outgoing& item, Lane lane) {
    (lane == Lane::message ? connection.messages : connection.streams).push(item);
    if (!may_enter(connection)) ++connection.statistics.token_waits;
    if (connection.queued) return;
    connection.queued = true;
    backlog_.push_back(&connection);
}

// Sends what the tokens allow: messages first, then the streams in turns.
bool Runtime::flush(Connection& connection) {
    bool moved = false;
    collect_grants(connection);
    while (!connection.messages.empty() && may_enter(connection)) {
        Outgoing* item = connection.messages.pop();
        item->emit(*this, connection);
        moved = true;
    }
    while (connection.messages.empty() && !connection.streams.empty() && may_enter(connection)) {
        Outgoing* item = connection.streams.pop();
        if (!item->emit(*this, connection)) connection.streams.push(*item);
        moved = true;
    }
    return moved;
}

bool Runtime::flush_backlog() {
    bool moved = false;
    for (std::size_t i = 0; i < backlog_.size();) {
        Connection& connection = *backlog_[i];
        moved |= flush(connection);
        if (connection.messages.empty() && connection.streams.empty()) {
            connection.queued = false;
            backlog_[i] = backlog_.back();
            backlog_.pop_back();
        } else {
            ++i;
        }
    }
    return moved;
}

// One link's share of a large message that goes over several: each takes the next piece when it has
// a token for it.
class Strand final : public Outgoing {
  public:
    SendRequest* request = nullptr;  // null: the message has ended
    Strand* sibling = nullptr;

    bool emit(Runtime& runtime, Connection& connection) override {
        if (request != nullptr && !runtime.emit_piece(*request, connection)) return false;
        runtime.pool_.give(this, sizeof *this);
        return true;
    }
    void drop(Runtime& runtime, Error error) override {
        if (request != nullptr) runtime.finish_send(*request, error);
        runtime.pool_.give(this, sizeof *this);
    }
    static void forget(SendRequest& request) {
        for (Strand* it = request.strands_; it != nullptr; it = it->sibling) it->request = nullptr;
        request.strands_ = nullptr;
    }
};

// Puts a message in the queues of all links by which it may leave.
void Runtime::spread(SendRequest& request, Peer& peer) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
        if ((peer.ways_out >> i & 1) == 0) continue;
        auto* strand = ::new (pool_.take(sizeof(Strand))) Strand;
        strand->request = &request;
        strand->sibling = request.strands_;
        request.strands_ = strand;
    }
    std::size_t link = 0;
    for (Strand* it = request.strands_; it != nullptr; it = it->sibling, ++link) {
        while ((peer.ways_out >> link & 1) == 0) ++link;
        enqueue(*links_[link], *it, Lane::stream);
    }
}

void Runtime::forget_strands(SendRequest& request) {
    Strand::forget(request);
}

bool SendRequest::emit(Runtime& runtime, Connection& connection) {
    return runtime.emit(*this, connection);
}

void SendRequest::drop(Runtime& runtime, Error error) {
    runtime.finish_send(*this, error);
}

// One packet of a send that had to wait. True when nothing more of it is to be sent.
bool Runtime::emit(SendRequest& request, Connection& connection) {
    Peer& peer = peers_[request.peer_];
    if (peer.dead) {
        finish_send(request, Error::unreachable);
        return true;
    }
    switch (request.stage_) {
        case SendRequest::Stage::eager: {
            PacketHeader header = header_to(
                peer, request.flow_ != nullptr ? PacketKind::flow_eager : PacketKind::eager,
                request.buffer_.bytes);
            header.sequence = request.sequence_;
            header.context = request.flow_ != nullptr ? request.flow_->label : request.context_;
            header.tag = request.tag_;
            transmit_message(connection, header, request.buffer_);
            finish_send(request);
            return true;
        }
        case SendRequest::Stage::stream:
            return emit_piece(request, connection);
        default:
            return true;
    }
}

// Where the last relay may put the next piece of a message that leaves by that connection. Its key
// is that of the peer's port by which that way ends.
transport::Place Runtime::place_of(const SendRequest& request, Peer& peer,
                                   const Connection& connection) {
    if (request.target_.length < request.buffer_.bytes || connection.peer == peer.rank ||
        !connection.link)
        return {};
    std::uint8_t& port = peer.far_ports[std::size_t(connection.link->index())];
    if (port == 0) {
        const auto path =
            routing::path_by(options_.torus, options_.rank, peer.rank, *connection.link);
        port = std::uint8_t(1 + path.back().direction.opposite().index());
    }
    return {request.target_.address + request.position_, request.target_.port_key(port - 1u)};
}

// One packet of a message that goes in packets. True: it was the last, or the peer is dead.
bool Runtime::emit_piece(SendRequest& request, Connection& connection) {
    Peer& peer = peers_[request.peer_];
    if (peer.dead) {
        finish_send(request, Error::unreachable);
        return true;
    }
    const std::size_t left = request.buffer_.bytes - request.position_;
    const std::size_t piece = std::min(left, options_.fragment());
    const transport::Place place = place_of(request, peer, connection);
    const DataBody body{request.landing_, 0, request.position_, place.address, place.key, 0};
    PacketHeader header = header_to(peer, PacketKind::data, 0);
    transmit_packed(connection, header, std::as_bytes(std::span(&body, 1)), request.buffer_,
                    request.position_, piece);
    request.position_ += piece;
    if (request.position_ < request.buffer_.bytes) return false;
    finish_send(request);
    return true;
}

}  // namespace torusmp::core

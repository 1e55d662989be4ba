// SPDX-License-Identifier: BSD-3-Clause
#include "core/pt2pt/rendezvous.h"

#include "base/assert.h"
#include "base/trace.h"
#include "core/pt2pt/scattered.h"

namespace torusmp::core {

using transport::PacketHeader;
using transport::Transfer;

namespace {

// Reads if the sender's memory is one block and ours is not.
Transfer read_layout(ReceiveRequest& request, Connection& connection,
                     const transport::RemoteMemory& memory, std::size_t bytes) {
    transport::Channel& channel = *connection.channel;
    const Buffer& buffer = request.buffer_;
    if (const std::byte* const place = channel.map(memory, 0, bytes)) {
        buffer.unpack(0, place, bytes);
        return Transfer::done;
    }
    if (!channel.can().reads_at_once || !goes_in_pieces(channel, *buffer.layout))
        return Transfer::refused;
    for (std::size_t from = 0; from < bytes;) {
        const Batch<transport::Bytes> batch(buffer, from, bytes - from, channel.can().most_pieces);
        if (channel.read(memory, from, batch.pieces(), 0) != Transfer::done)
            return Transfer::refused;
        from += batch.bytes();
    }
    return Transfer::done;
}

}  // namespace

RtsBody Rendezvous::request_of(SendRequest& request, Peer& peer) {
    TORUSMP_ASSERT(request.exposed_at_ == nullptr, commons_.rank(), peer.rank, request.stage());
    sends_.name(request);
    request.become(SendRequest::Stage::wait_answer, commons_.rank());
    TORUSMP_TRACE(message, debug, commons_.rank(), "send {} of {} B to {}, tag {}: asks",
                  request.send_handle_, request.buffer_.bytes, peer.rank, request.tag_);
    RtsBody body{request.send_handle_, request.ordinal_, request.buffer_.bytes, {}};
    if (request.buffer_.layout == nullptr && request.buffer_.bytes != 0) {
        const Connection& connection = connections_.to(peer);
        const transport::Bytes memory{request.buffer_.base, request.buffer_.bytes};
        if (connection.interface == nullptr)
            body.memory = Loopback::register_memory(memory);
        else if (connection.peer == peer.rank && connection.interface->can().reads) {
            request.exposed_at_ = connection.interface;
            body.memory = request.exposed_ =
                connection.interface->register_memory(memory, connection.cable);
        }
    }
    return body;
}

void Rendezvous::ask(SendRequest& request, Peer& peer) {
    const RtsBody body = request_of(request, peer);
    if (request.flow_ != nullptr)
        sender_.send(peer, PacketKind::flow_rts, body, request.flow_->label);
    else
        sender_.send(peer, PacketKind::rts, body, request.context_, request.tag_);
}

void Rendezvous::ask_by(Connection& connection, SendRequest& request, Peer& peer) {
    const RtsBody body = request_of(request, peer);
    PacketHeader header = sender_.header_to(peer, PacketKind::rts, sizeof body);
    header.sequence = request.sequence_;
    header.context = request.context_;
    header.tag = request.tag_;
    sender_.transmit(connection, header, std::as_bytes(std::span(&body, 1)));
    connection.statistics.count_control(sizeof body);
}

void Rendezvous::answer(ReceiveRequest& request, Rank source, Tag tag, const RtsBody& body) {
    Peer& peer = connections_.peer(source);
    TORUSMP_ASSERT(!request.posted() && !request.complete(), commons_.rank(), source, tag,
                   body.send_handle, body.bytes);
    if (request.receive_handle_ != 0) receives_.close(request);
    request.status_.source = source;
    request.status_.tag = tag;
    request.status_.bytes = body.bytes;
    request.send_handle_ = body.send_handle;
    const SendHandleBody fin{body.send_handle, 0};
    if (body.bytes > request.buffer_.bytes || body.bytes == 0) {
        sender_.send(peer, PacketKind::fin, fin);
        return commons_.complete(request, body.bytes == 0 ? Error::none : Error::truncated);
    }
    request.expected_ = body.bytes;
    transport::RemoteMemory mine = receives_.open(request, peer);
    Connection& connection = connections_.to(peer);
    const bool readable = connection.peer == source && body.memory.length >= body.bytes;
    if (readable && connection.channel->can_read(body.memory)) {
        const transport::Bytes whole{request.buffer_.base, std::size_t(body.bytes)};
        const Transfer transfer =
            request.buffer_.layout != nullptr
                ? read_layout(request, connection, body.memory, whole.size())
                : connection.channel->read(body.memory, 0, {&whole, 1},
                                           std::uint64_t(request.receive_handle_) << 32);
        if (transfer != Transfer::refused) {
            connection.statistics.bytes_read += body.bytes;
            TORUSMP_TRACE(message, debug, commons_.rank(), "receive of {} B from {}, tag {}: reads",
                          body.bytes, source, tag);
            if (transfer == Transfer::pending) {
                request.become(ReceiveRequest::Stage::reading, commons_.rank());
                return;
            }
            sender_.send(peer, PacketKind::fin, fin);
            return receives_.finish(request);
        }
    }
    TORUSMP_TRACE(message, debug, commons_.rank(),
                  "receive {} of {} B from {}, tag {}: is ready to be written",
                  request.receive_handle_, body.bytes, source, tag);
    request.become(ReceiveRequest::Stage::arriving, commons_.rank());
    // The message is to go in packets, though it could have been read: it is not to be written
    // either.
    if (readable && connection.interface != nullptr && connection.channel->can().reads_at_once &&
        !connection.interface->is_mapped(mine))
        mine = {};
    sender_.send(peer, PacketKind::cts,
                 CtsBody{body.send_handle, request.receive_handle_,
                         receives_.converging() ? 1u : 0u, 0, mine});
}

bool Rendezvous::on_rts(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    RtsBody body;
    if (header.tag < 0 || !read_body(header, payload, body)) return false;
    ++states_[peer.rank].seen;
    if (ReceiveRequest* request = matching_.match_posted(header.context, peer.rank, header.tag)) {
        if (request->complete()) request->reopen();
        answer(*request, peer.rank, header.tag, body);
    } else {
        matching_.keep(store_.keep(peer, header.context, header.tag, body));
    }
    return true;
}

bool Rendezvous::on_cts(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    CtsBody body;
    if (!read_body(header, payload, body)) return false;
    SendRequest* request = sends_.take_answered(peer, body.send_handle);
    if (request == nullptr) return false;
    writes_.begin(*request, {body.receive_handle, body.memory, body.converging != 0}, false);
    return true;
}

bool Rendezvous::on_fin(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    SendHandleBody body;
    if (!read_body(header, payload, body)) return false;
    SendRequest* request = sends_.take_answered(peer, body.send_handle);
    if (request == nullptr) return false;
    TORUSMP_TRACE(message, debug, commons_.rank(), "send {} of {} B to {}: has been read",
                  body.send_handle, request->buffer_.bytes, peer.rank);
    ++connections_.to(peer).statistics.rendezvous;
    sends_.finish(*request);
    return true;
}

void Rendezvous::on_transfer_end(Connection& connection, std::uint64_t cookie, bool ok) {
    // Our writes carry a send handle, our reads a receive handle in the upper half.
    if (const auto send_handle = std::uint32_t(cookie); send_handle != 0)
        return writes_.on_part_end(connection, send_handle, ok);
    ReceiveRequest* request = receives_.find(std::uint32_t(cookie >> 32));
    if (request == nullptr) return;
    TORUSMP_ASSERT(request->stage() == ReceiveRequest::Stage::reading, commons_.rank(),
                   connection.peer, request->stage(), request->receive_handle_, request->expected_,
                   ok);
    if (ok)
        sender_.send(connections_.peer(connection.peer), PacketKind::fin,
                     SendHandleBody{request->send_handle_, 0});
    receives_.finish(*request, ok ? Error::none : Error::unreachable);
}

}  // namespace torusmp::core

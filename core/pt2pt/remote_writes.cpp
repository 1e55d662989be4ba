// SPDX-License-Identifier: BSD-3-Clause
#include "core/pt2pt/remote_writes.h"

#include "base/assert.h"
#include "base/trace.h"
#include "core/pt2pt/scattered.h"

namespace torusmp::core {

using transport::Transfer;

namespace {

// The notice of the last write of a message over one link, if writes notify.
std::optional<std::uint64_t> notice_of(const SendRequest& request, const Connection& connection,
                                       bool last) {
    if (!last || !connection.channel->can().notifies) return std::nullopt;
    return request.receive_handle_ | std::uint64_t(request.parts_) << 32;
}

}  // namespace

// The cables to a neighbour by which its memory can be written. The memory was named for the
// interface of the cable that leads there; another interface cannot interpret the name.
int RemoteWrites::cables_to(const Peer& peer, const transport::RemoteMemory& memory,
                            Cables& cables) const {
    Cables all{};
    const int found = connections_.cables_to(peer, all);
    int count = 0;
    for (int i = 0; i < found; ++i)
        if (Connection* cable = all[std::size_t(i)];
            cable->interface == peer.via->interface && cable->channel->can_write(memory))
            cables[std::size_t(count++)] = cable;
    return count;
}

// Starts the remote writes of a message: one, or one for each cable to the same neighbour, which
// `cables` receives.
Transfer RemoteWrites::write(SendRequest& request, Connection& connection, const Peer& peer,
                             const transport::RemoteMemory& memory, Cables& cables) {
    if (connection.peer != peer.rank || memory.length < request.buffer_.bytes ||
        connection.interface != peer.via->interface || !connection.channel->can_write(memory))
        return Transfer::refused;
    if (request.buffer_.layout != nullptr) return write_layout(request, connection, memory);
    sends_.name(request);
    const transport::ConstBytes whole{request.buffer_.base, request.buffer_.bytes};
    const bool one = request.link_ != nullptr || whole.size() < commons_.options.spread_limit;
    const int parts = one ? 1 : cables_to(peer, memory, cables);
    if (parts == 0) return Transfer::refused;  // the answer has changed since can_write() above
    request.parts_ = std::uint8_t(parts);
    request.part_failed_ = false;
    request.parts_left_ = request.parts_;
    TORUSMP_ASSERT(request.parts_ >= 1 && request.parts_ <= cables.size(), commons_.rank(),
                   peer.rank, request.parts_);
    if (request.parts_ == 1) return write_part(request, connection, memory, 0, whole.size());
    std::size_t from = 0;
    for (int i = 0; i < request.parts_; ++i) {
        const std::size_t bytes = (whole.size() - from) / std::size_t(request.parts_ - i);
        const Transfer transfer = write_part(request, *cables[std::size_t(i)], memory, from, bytes);
        if (transfer == Transfer::refused)
            return transfer;  // only for the first write: see Capabilities::separate_links
        from += bytes;
        if (transfer != Transfer::pending) {
            --request.parts_left_;
            request.parts_out_ |= std::uint16_t(1u << i);
        }
    }
    return Transfer::pending;
}

Transfer RemoteWrites::write_part(SendRequest& request, Connection& connection,
                                  const transport::RemoteMemory& memory, std::size_t from,
                                  std::size_t bytes) {
    const transport::ConstBytes local{request.buffer_.base + from, bytes};
    const Transfer transfer = connection.channel->write(
        memory, from, {&local, 1}, request.send_handle_, notice_of(request, connection, true));
    if (transfer != Transfer::refused) connection.statistics.bytes_written += bytes;
    return transfer;
}

// Notifies the receiver that the write over this link is complete, unless a notice does so.
void RemoteWrites::tell_written(SendRequest& request, Connection& connection) {
    if (connection.channel->can().notifies) return;  // the write has notified it
    const WrittenBody body{request.receive_handle_, request.parts_};
    sender_.send_over(connection, connections_.peer(request.peer_), PacketKind::written, body);
}

void RemoteWrites::begin(SendRequest& request, const Target& target, bool tell_matched) {
    Peer& peer = connections_.peer(request.peer_);
    Connection& connection = request.link_ != nullptr ? *request.link_ : connections_.to(peer);
    ++connection.statistics.rendezvous;
    request.receive_handle_ = target.receive_handle;
    request.parts_out_ = 0;
    // If the write itself notifies the receiver, the match is sent first and both leave together.
    const bool ahead =
        tell_matched && connection.peer == peer.rank && connection.channel->can().notifies;
    const MatchedBody matched{target.receive_handle, 0, request.buffer_.bytes};
    if (ahead) {
        connection.channel->cork();
        sender_.send_over(connection, peer, PacketKind::matched, matched);
    }
    Cables cables{};
    const Transfer transfer = write(request, connection, peer, target.memory, cables);
    const bool whole = transfer == Transfer::done;
    TORUSMP_TRACE(message, debug, commons_.rank(), "send {} of {} B to {}, receive {}: {}",
                  request.send_handle_, request.buffer_.bytes, peer.rank, target.receive_handle,
                  whole                           ? "is written"
                  : transfer == Transfer::pending ? "is being written"
                                                  : "goes in packets");
    if (transfer == Transfer::refused)
        return streams_.start(request, peer, connection, target, tell_matched && !ahead);
    if (tell_matched && !ahead)
        sender_.send(peer, PacketKind::matched,
                     MatchedBody{target.receive_handle, whole ? 1u : 0u, request.buffer_.bytes});
    else if (whole)
        tell_written(request, connection);
    if (whole) return sends_.finish(request);
    request.become(SendRequest::Stage::writing, commons_.rank());
    if (request.parts_out_ != 0) {
        for (std::size_t i = 0; i < cables.size(); ++i)
            if ((request.parts_out_ >> i & 1) != 0) tell_written(request, *cables[i]);
        if (request.parts_left_ == 0) sends_.finish(request);
    }
}

void RemoteWrites::on_part_end(Connection& connection, std::uint32_t send_handle, bool ok) {
    SendRequest* request = sends_.find(send_handle);
    if (request == nullptr) return;
    TORUSMP_TRACE(message, debug, commons_.rank(), "send {} to {}: a write has {}, {} were left",
                  send_handle, request->peer_, ok ? "ended" : "failed", request->parts_left_);
    TORUSMP_ASSERT(request->parts_left_ != 0, commons_.rank(), request->peer_, request->stage(),
                   request->parts_, ok);
    if (!ok) request->part_failed_ = true;
    // A message may take many writes over one link; the last one notifies.
    if (ok && (request->parts_ > 1 || (request->parts_left_ == 1 && !request->part_failed_)))
        tell_written(*request, connection);
    if (--request->parts_left_ == 0)
        sends_.finish(*request, request->part_failed_ ? Error::unreachable : Error::none);
}

Transfer RemoteWrites::write_layout(SendRequest& request, Connection& connection,
                                    const transport::RemoteMemory& memory) {
    const Buffer& buffer = request.buffer_;
    if (std::byte* const place = connection.channel->map(memory, 0, buffer.bytes)) {
        buffer.pack(0, place, buffer.bytes);
        request.parts_ = 1;
        connection.statistics.bytes_written += buffer.bytes;
        return Transfer::done;
    }
    if (!goes_in_pieces(*connection.channel, *buffer.layout)) return Transfer::refused;
    // Several cables have more bandwidth than one, so packets go over all.
    Cables cables{};
    if (request.link_ == nullptr && buffer.bytes >= commons_.options.spread_limit &&
        connections_.cables_to(connections_.peer(connection.peer), cables) > 1)
        return Transfer::refused;
    return write_pieces(request, connection, memory);
}

// Starts as many writes as the pieces need, without waiting; the last one notifies, if writes can.
Transfer RemoteWrites::write_pieces(SendRequest& request, Connection& connection,
                                    const transport::RemoteMemory& memory) {
    transport::Channel& channel = *connection.channel;
    const Buffer& buffer = request.buffer_;
    sends_.name(request);
    request.parts_ = 1;
    request.part_failed_ = false;
    request.parts_left_ = 0;
    for (std::size_t from = 0; from < buffer.bytes;) {
        const Batch<transport::ConstBytes> batch(buffer, from, buffer.bytes - from,
                                                 channel.can().most_pieces);
        const bool last = from + batch.bytes() == buffer.bytes;
        const Transfer transfer = channel.write(memory, from, batch.pieces(), request.send_handle_,
                                                notice_of(request, connection, last));
        if (transfer == Transfer::refused) {
            if (request.parts_left_ == 0) return transfer;
            // The link has failed after the pending writes; their end ends the message.
            request.part_failed_ = true;
            return Transfer::pending;
        }
        if (transfer == Transfer::pending) ++request.parts_left_;
        from += batch.bytes();
    }
    connection.statistics.bytes_written += buffer.bytes;
    return request.parts_left_ == 0 ? Transfer::done : Transfer::pending;
}

}  // namespace torusmp::core

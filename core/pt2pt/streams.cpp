// SPDX-License-Identifier: BSD-3-Clause
#include "core/pt2pt/streams.h"

#include <algorithm>

#include "base/assert.h"
#include "core/pt2pt/rail.h"
#include "routing/ways.h"

namespace torusmp::core {
namespace {

// A rail in the pool, which stays there until it has left its queue.
class PooledRail final : public Rail {
  public:
    PooledRail(Pool& pool, SendRequest::Sender& by, SendRequest& of, const Connection& over)
        : Rail(by, of, over), pool_(pool) {}

    bool emit(Connection& connection) override {
        if (request != nullptr && !sender.emit(*request, connection)) {
            ++sent;
            if (!gives_way()) return false;
            leave();
        }
        pool_.give(this, sizeof *this);
        return true;
    }
    void drop(Error error) override {
        if (request != nullptr) sender.drop(*request, error);
        pool_.give(this, sizeof *this);
    }

  private:
    Pool& pool_;
};

}  // namespace

void Streams::start(SendRequest& request, Peer& peer, Connection& way, const Target& target,
                    bool tell_matched) {
    TORUSMP_ASSERT(request.rails_ == nullptr, commons_.rank(), peer.rank);
    request.become(SendRequest::Stage::stream, commons_.rank());
    request.sender_ = this;
    request.position_ = 0;
    request.target_ = target.memory;
    if (tell_matched && !begin_with_match(request, peer, way))
        sender_.send(peer, PacketKind::matched,
                     MatchedBody{target.receive_handle, 0, request.buffer_.bytes});
    if (peer.ways_out != 0 && request.link_ == nullptr &&
        request.buffer_.bytes >= commons_.options.spread_limit)
        spread(request, peer, target.converging);
    else
        sender_.enqueue(way, request, PacketSender::Queue::stream);
}

// Sends the match and the first piece in one packet, if the way is a direct connection that can
// take it now. A large message has more than one piece.
bool Streams::begin_with_match(SendRequest& request, Peer& peer, Connection& way) {
    if (way.link || way.peer != peer.rank || way.fragment >= request.buffer_.bytes ||
        !sender_.may_leave(way))
        return false;
    const MatchedBody body{request.receive_handle_, 0, request.buffer_.bytes};
    transport::PacketHeader header = sender_.header_to(peer, PacketKind::matched, 0);
    header.sequence = peer.send_sequence++;
    send_piece(request, way, header, std::as_bytes(std::span(&body, 1)));
    return true;
}

// Enters a message into the queues of all links on which it may leave.
void Streams::spread(SendRequest& request, Peer& peer, bool converging) {
    const auto& links = connections_.links();
    const routing::WayShares* const shares = converging ? &shares_to(peer) : nullptr;
    const std::uint64_t pieces = request.buffer_.bytes / commons_.options.fragment() + 1;
    std::uint64_t whole = 0;
    for (std::size_t i = 0; shares != nullptr && i < links.size(); ++i)
        if ((peer.ways_out >> i & 1) != 0) whole += (*shares)[i];
    for (std::size_t i = 0; i < links.size(); ++i) {
        if ((peer.ways_out >> i & 1) == 0) continue;
        auto* rail = ::new (commons_.pool.take(sizeof(PooledRail)))
            PooledRail(commons_.pool, *this, request, *links[i]);
        // Rounded up, so that they take all pieces together.
        if (whole != 0) rail->share = pieces * (*shares)[i] / whole + 1;
        rail->sibling = request.rails_;
        request.rails_ = rail;
        sender_.enqueue(*links[i], *rail, PacketSender::Queue::stream);
    }
    TORUSMP_ASSERT(request.rails_ != nullptr && request.rails_->sibling != nullptr, commons_.rank(),
                   peer.rank, peer.ways_out);
}

const routing::WayShares& Streams::shares_to(Peer& peer) {
    if (peer.shares == routing::WayShares{})
        peer.shares = routing::way_shares(commons_.torus(), commons_.rank(), peer.rank);
    return peer.shares;
}

// The place where the last relay may put the next piece of a message that leaves by that
// connection. Its key belongs to the peer's port at which that path ends.
transport::RemoteAddress Streams::place_of(const SendRequest& request, Peer& peer,
                                           const Connection& connection) {
    if (request.target_.length < request.buffer_.bytes || connection.peer == peer.rank ||
        !connection.link)
        return {};
    std::uint8_t& port = peer.far_ports[std::size_t(connection.link->index())];
    if (port == 0) {
        const auto path =
            routing::path_by(commons_.torus(), commons_.rank(), peer.rank, *connection.link);
        port = std::uint8_t(1 + path.back().direction.opposite().index());
    }
    TORUSMP_ASSERT(port >= 1 && port <= peer.far_ports.size(), commons_.rank(), peer.rank, port);
    return {request.target_.address + request.position_,
            request.target_.as<transport::PortKeys>().by_port[port - 1u]};
}

// Sends the next piece behind that body.
void Streams::send_piece(SendRequest& request, Connection& connection,
                         transport::PacketHeader& header, transport::ConstBytes body) {
    const std::size_t left = request.buffer_.bytes - request.position_;
    const std::size_t piece = std::min(left, connection.fragment);
    sender_.transmit_packed(connection, header, body, request.buffer_, request.position_, piece);
    ++connection.statistics.streamed;
    connection.statistics.bytes_streamed += header.length;
    request.position_ += piece;
}

// Sends one piece. Returns true if it was the last, or the peer is dead.
bool Streams::emit(SendRequest& request, Connection& connection) {
    Peer& peer = connections_.peer(request.peer_);
    if (peer.dead) {
        sends_.finish(request, Error::unreachable);
        return true;
    }
    TORUSMP_ASSERT(
        request.stage() == SendRequest::Stage::stream && request.position_ <= request.buffer_.bytes,
        commons_.rank(), peer.rank, request.stage(), request.position_, request.buffer_.bytes);
    TORUSMP_ASSERT(connection.fragment != 0, commons_.rank(), connection.peer);
    const transport::RemoteAddress place = place_of(request, peer, connection);
    const DataBody body{request.receive_handle_, 0, request.position_, place.address, place.key, 0};
    transport::PacketHeader header = sender_.header_to(peer, PacketKind::data, 0);
    send_piece(request, connection, header, std::as_bytes(std::span(&body, 1)));
    if (request.position_ < request.buffer_.bytes) return false;
    sends_.finish(request);
    return true;
}

}  // namespace torusmp::core

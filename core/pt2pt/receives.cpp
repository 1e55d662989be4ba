// SPDX-License-Identifier: BSD-3-Clause
#include "core/pt2pt/receives.h"

#include <array>
#include <utility>

#include "base/assert.h"

namespace torusmp::core {

using transport::PacketHeader;

namespace {

// The most cables between the same two ranks.
constexpr std::uint32_t most_parts = std::tuple_size_v<Cables>;

// Whether bytes for this receive handle may arrive from that peer now: its message is matched, or
// will be because the receive was announced to that peer alone.
bool may_land(const ReceiveRequest& request, const Peer& peer) {
    return request.posted() ? request.peer_ == peer.rank : request.status_.source == peer.rank;
}

// The source of a receive that has an id: a wildcard gets one when it is matched.
Rank source_of(const ReceiveRequest& request) {
    return request.peer_ != any_source ? request.peer_ : request.status_.source;
}

}  // namespace

transport::RemoteMemory Receives::open(ReceiveRequest& request, Peer& peer) {
    TORUSMP_ASSERT(request.receive_handle_ == 0 && request.exposed_at_ == nullptr, commons_.rank(),
                   peer.rank, request.receive_handle_);
    TORUSMP_ASSERT(
        (request.stage() == ReceiveRequest::Stage::idle || request.posted()) && !request.announced_,
        commons_.rank(), peer.rank, request.stage());
    request.receive_handle_ = receive_handles_.add(request);
    TORUSMP_ASSERT(source_of(request) == peer.rank, commons_.rank(), peer.rank, source_of(request));
    if (peer.receives++ == 0) ++sources_;
    request.landed_ = 0;
    request.parts_ = request.parts_landed_ = 0;
    if (request.buffer_.layout != nullptr || request.buffer_.bytes == 0) return {};
    const transport::Bytes memory{request.buffer_.base, request.buffer_.bytes};
    const Connection& connection = connections_.to(peer);
    if (connection.interface == nullptr) return Loopback::register_memory(memory);
    // A peer further away sends packets, whose payload the last relay may place.
    const bool far = connection.peer != peer.rank;
    if (far && (peer.placing == nullptr || commons_.options.is_eager(memory.size()))) return {};
    request.exposed_at_ = far ? peer.placing : connection.interface;
    request.exposed_ =
        request.exposed_at_->register_memory(memory, far ? nullptr : connection.cable);
    return request.exposed_;
}

void Receives::close(ReceiveRequest& request) {
    TORUSMP_ASSERT(find(request.receive_handle_) == &request, commons_.rank(), request.peer_,
                   request.receive_handle_, request.stage());
    receive_handles_.remove(request.receive_handle_);
    request.receive_handle_ = 0;
    Peer& peer = connections_.peer(source_of(request));
    TORUSMP_ASSERT(peer.receives != 0 && sources_ != 0, commons_.rank(), peer.rank, peer.receives,
                   sources_);
    if (--peer.receives == 0) --sources_;
    if (request.exposed_at_ != nullptr)
        std::exchange(request.exposed_at_, nullptr)->deregister_memory(request.exposed_);
    if (request.announced_) {
        TORUSMP_ASSERT(states_[request.peer_].announced != 0, commons_.rank(), request.peer_);
        request.announced_ = false;
        --states_[request.peer_].announced;
    }
}

bool Receives::on_matched(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    MatchedBody body;
    if (!read_body(header, payload, body)) return false;
    ReceiveRequest* request = receive_handles_.find(body.receive_handle);
    if (request == nullptr || request->peer_ != peer.rank || body.bytes > request->buffer_.bytes ||
        body.bytes == 0)
        return false;
    const std::size_t behind = header.length - sizeof body;  // of the message, from its begin
    if (behind > body.bytes || (behind != 0 && body.whole != 0)) return false;
    if (request->flow_ != nullptr) {
        if (request->posted()) {
            if (request->flow_->first != request) return false;
            request->flow_->take_started();
        } else if (request->stage() != ReceiveRequest::Stage::crossed) {
            return false;
        }
    } else {
        if (!request->posted()) return false;
        matching_.remove(*request);
        ++states_[peer.rank].seen;
    }
    request->status_.source = peer.rank;
    request->status_.tag = request->tag_;
    request->status_.bytes = body.bytes;
    request->expected_ = body.bytes;
    request->become(ReceiveRequest::Stage::arriving, commons_.rank());
    if (behind != 0) request->buffer_.unpack(0, payload + sizeof body, behind);
    request->landed_ += behind;
    if (request->landed_ > request->expected_) return false;
    if (body.whole != 0)
        finish(*request);
    else
        finish_if_landed(*request);  // the bytes may have overtaken this packet on other links
    return true;
}

void Receives::finish_if_landed(ReceiveRequest& request) {
    if (request.stage() != ReceiveRequest::Stage::arriving) return;
    TORUSMP_ASSERT(request.landed_ <= request.expected_ && request.parts_landed_ <= request.parts_,
                   commons_.rank(), request.peer_, request.landed_, request.expected_,
                   request.parts_landed_, request.parts_);
    const bool written = request.parts_ != 0 && request.parts_landed_ == request.parts_;
    if (written || request.landed_ == request.expected_) finish(request);
}

bool Receives::on_data(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    DataBody body;
    if (!read_body(header, payload, body)) return false;
    ReceiveRequest* request = receive_handles_.find(body.receive_handle);
    const std::size_t behind = header.length - sizeof body;
    if (body.placed != 0 && behind != 0) return false;
    const std::size_t bytes = body.placed != 0 ? body.placed : behind;
    if (request == nullptr || !may_land(*request, peer)) return false;
    const std::size_t room = request->posted() ? request->buffer_.bytes : request->expected_;
    if (body.offset > room || bytes > room - body.offset || bytes > room - request->landed_)
        return false;
    // Placed bytes were written before this packet arrived, to memory that we named ourselves.
    if (body.placed == 0) request->buffer_.unpack(body.offset, payload + sizeof body, bytes);
    request->landed_ += bytes;
    finish_if_landed(*request);
    return true;
}

bool Receives::on_written(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    WrittenBody body;
    if (!read_body(header, payload, body)) return false;
    return part_written(peer, body);
}

void Receives::on_notice(Connection& connection, std::uint64_t notice) {
    if (connection.down()) return;
    const Peer& peer = connections_.peer(connection.peer);
    if (!peer.dead &&
        !part_written(peer, WrittenBody{std::uint32_t(notice), std::uint32_t(notice >> 32)}))
        faults_.close(connection, Error::protocol, "a write for memory that awaits none");
}

bool Receives::part_written(const Peer& peer, const WrittenBody& body) {
    ReceiveRequest* request = receive_handles_.find(body.receive_handle);
    if (request == nullptr || !may_land(*request, peer) || body.parts == 0 ||
        body.parts > most_parts || (request->parts_ != 0 && request->parts_ != body.parts) ||
        request->parts_landed_ == body.parts)
        return false;
    request->parts_ = std::uint8_t(body.parts);
    ++request->parts_landed_;
    finish_if_landed(*request);
    return true;
}

void Receives::peer_lost(Peer& peer, Error error) {
    std::vector<ReceiveRequest*> lost;
    const bool cables_live = connections_.reaches(peer);
    receive_handles_.for_each([&](ReceiveRequest& request) {
        if (request.posted() || request.status_.source != peer.rank) return;
        if (request.stage() == ReceiveRequest::Stage::reading && cables_live) return;
        lost.push_back(&request);
    });
    for (ReceiveRequest* request : lost) finish(*request, error);
}

void Receives::report(Waits& waits) const {
    receive_handles_.for_each([&](const ReceiveRequest& r) {
        if (!r.posted())
            waits.add(Waits::Operation{.kind = Waits::Operation::Kind::receive,
                                       .stage = Waits::Operation::Stage::moving,
                                       .channel = r.flow_ != nullptr,
                                       .peer = r.status_.source,
                                       .context = r.context_,
                                       .tag = r.tag_,
                                       .bytes = r.expected_,
                                       .done = r.landed_,
                                       .id = static_cast<const Request*>(&r)});
    });
}

}  // namespace torusmp::core

// Large messages: written into, or read from, the user's memory without a copy where the channel
// can, in packets straight from and to it where not.
//
// The receiver's memory for one message is a landing, the sender's a departure; packets name them
// by id. Four ways, all ending with both requests complete:
//   the sender knows the landing  -> writes,              says matched (whole)
//   request, the receiver can read -> reads,              says pulled
//   request, it cannot             -> says clear,         the sender writes, says written
//   no remote access at all        -> as above, but the bytes come as data packets
#include <algorithm>

#include "core/runtime.h"

namespace torusmp::core {

using transport::PacketHeader;
using transport::Transfer;

namespace {

// Cables between the same two ranks, at most: a ring of two has both.
constexpr std::uint32_t most_parts = 2;

}  // namespace

// Tells the receiver that a message waits here.
void Runtime::ask(SendRequest& request, Peer& peer) {
    request.stage_ = SendRequest::Stage::wait_answer;
    request.retracting_ = false;
    request.departure_ = departures_.add(request);
    RequestBody body{request.departure_, request.ordinal_, request.buffer_.bytes, {}};
    if (request.buffer_.layout == nullptr && request.buffer_.bytes != 0) {
        const Connection& connection = connection_to(peer);
        const transport::Bytes memory{request.buffer_.base, request.buffer_.bytes};
        if (connection.interface == nullptr)
            body.memory = Loopback::expose(memory);
        else if (connection.peer == peer.rank && connection.interface->reads()) {
            request.exposed_at_ = connection.interface;
            body.memory = request.exposed_ =
                connection.interface->expose(memory, connection.channel);
        }
    }
    if (request.flow_ != nullptr)
        send_body(peer, PacketKind::flow_request, body, request.flow_->label);
    else
        send_body(peer, PacketKind::request, body, request.context_, request.tag_);
}

// The cables to a neighbour that can be used at the same time; the channel that leads there where
// there is but one.
int Runtime::links_to(const Peer& peer, Cables& links) const {
    int count = 0;
    links[0] = peer.via;
    if (peer.ways_out == 0) return 1;
    for (Connection* link : links_)
        if (link != nullptr && link->peer == peer.rank && count < 2)
            links[std::size_t(count++)] = link;
    return count;
}

// Those of them by which this memory of the neighbour's can be written. It was named for the
// interface of the cable that leads there, and another one's makes nothing of that name.
int Runtime::links_to(const Peer& peer, const transport::RemoteMemory& memory,
                      Cables& links) const {
    Cables all{};
    const int found = links_to(peer, all);
    int count = 0;
    for (int i = 0; i < found; ++i)
        if (Connection* link = all[std::size_t(i)];
            link->interface == peer.via->interface && link->channel->can_write(memory))
            links[std::size_t(count++)] = link;
    return count;
}

// Starts the remote writes of a message: one, or one for each of two cables to the same neighbour.
Transfer Runtime::write_to(SendRequest& request, Peer& peer,
                           const transport::RemoteMemory& memory) {
    Connection& connection = way_of(request);
    if (connection.peer != peer.rank || memory.length < request.buffer_.bytes ||
        connection.interface != peer.via->interface || !connection.channel->can_write(memory))
        return Transfer::refused;
    if (request.buffer_.layout != nullptr) return write_layout(request, connection, memory);
    if (request.departure_ == 0) request.departure_ = departures_.add(request);
    Cables links{};
    const transport::ConstBytes whole{request.buffer_.base, request.buffer_.bytes};
    const bool one = request.link_ != nullptr || whole.size() < options_.spread_limit;
    request.parts_ = std::uint8_t(one ? 1 : links_to(peer, memory, links));
    request.part_failed_ = false;
    request.parts_left_ = request.parts_;
    if (request.parts_ == 1) return write_part(request, connection, memory, 0, whole.size());
    std::size_t from = 0;
    for (int i = 0; i < request.parts_; ++i) {
        const std::size_t bytes = (whole.size() - from) / std::size_t(request.parts_ - i);
        const Transfer transfer = write_part(request, *links[std::size_t(i)], memory, from, bytes);
        if (transfer == Transfer::refused) return transfer;  // the first: see separate_links()
        from += bytes;
        if (transfer != Transfer::pending) {
            --request.parts_left_;
            request.parts_out_ |= std::uint8_t(1u << i);
        }
    }
    return Transfer::pending;
}

Transfer Runtime::write_part(SendRequest& request, Connection& connection,
                             const transport::RemoteMemory& memory, std::size_t from,
                             std::size_t bytes) {
    transport::Channel& channel = *connection.channel;
    const transport::ConstBytes local{request.buffer_.base + from, bytes};
    const std::uint64_t notice = request.landing_ | std::uint64_t(request.parts_) << 32;
    const Transfer transfer =
        channel.notifies()
            ? channel.write_with_notice(memory, from, local, request.departure_, notice)
            : channel.write(memory, from, local, request.departure_);
    if (transfer != Transfer::refused) connection.statistics.bytes_written += bytes;
    return transfer;
}

// Tells the receiver that the write over this link is complete: the notice comes behind it.
void Runtime::tell_written(SendRequest& request, Connection& connection) {
    if (connection.channel->notifies()) return;  // the write has told
    const WrittenBody body{request.landing_, request.parts_};
    send_over(connection, peers_[request.peer_], PacketKind::written,
              std::as_bytes(std::span(&body, 1)), 0, 0);
}

// Sends the message into memory that the receiver has named. tell_matched: the receiver does not
// know yet that this message takes that landing.
void Runtime::begin_write(SendRequest& request, std::uint32_t landing,
                          const transport::RemoteMemory& memory, bool tell_matched) {
    Peer& peer = peers_[request.peer_];
    Connection& connection = way_of(request);
    request.landing_ = landing;
    request.parts_out_ = 0;
    // Where the write itself tells that it is complete, the match goes ahead and both go together.
    const bool ahead =
        tell_matched && connection.peer == peer.rank && connection.channel->notifies();
    const MatchedBody matched{landing, 0, request.buffer_.bytes};
    if (ahead) {
        connection.channel->cork();
        send_over(connection, peer, PacketKind::matched, std::as_bytes(std::span(&matched, 1)), 0,
                  0);
    }
    const Transfer transfer = write_to(request, peer, memory);
    const bool whole = transfer == Transfer::done;
    if (tell_matched && !ahead)
        send_body(peer, PacketKind::matched,
                  MatchedBody{landing, whole ? 1u : 0u, request.buffer_.bytes});
    else if (whole)
        tell_written(request, connection);
    if (whole) return finish_send(request);
    if (transfer == Transfer::pending) {
        request.stage_ = SendRequest::Stage::writing;
        if (request.parts_out_ != 0) {
            Cables links{};
            links_to(peer, memory, links);
            for (std::size_t i = 0; i < links.size(); ++i)
                if ((request.parts_out_ >> i & 1) != 0) tell_written(request, *links[i]);
            if (request.parts_left_ == 0) finish_send(request);
        }
        return;
    }
    request.stage_ = SendRequest::Stage::stream;
    request.position_ = 0;
    request.target_ = memory;
    if (peer.ways_out != 0 && request.link_ == nullptr &&
        request.buffer_.bytes >= options_.spread_limit)
        spread(request, peer);
    else
        enqueue(connection, request, Lane::stream);
}

void Runtime::on_transfer(transport::Channel& channel, std::uint64_t cookie, bool ok) {
    stirred_ = true;
    auto& connection = *static_cast<Connection*>(channel.owner);
    const auto id = std::uint32_t(cookie);
    // Our writes carry a departure, our reads a landing in the upper half.
    if (id != 0) {
        SendRequest* request = departures_.find(id);
        if (request == nullptr) return;
        if (!ok) request->part_failed_ = true;
        // Of a message that takes many writes over one link the last tells of all.
        if (ok && (request->parts_ > 1 || (request->parts_left_ == 1 && !request->part_failed_)))
            tell_written(*request, connection);
        if (--request->parts_left_ == 0)
            finish_send(*request, request->part_failed_ ? Error::unreachable : Error::none);
        return;
    }
    ReceiveRequest* request = landings_.find(std::uint32_t(cookie >> 32));
    if (request == nullptr) return;
    request->reading_ = false;
    if (ok)
        send_body(peers_[connection.peer], PacketKind::pulled,
                  DepartureBody{request->departure_, 0});
    close_landing(*request);
    complete(*request, ok ? Error::none : Error::unreachable);
}

void Runtime::finish_send(SendRequest& request, Error error) {
    if (request.departure_ != 0) {
        departures_.remove(request.departure_);
        request.departure_ = 0;
    }
    if (request.strands_ != nullptr) forget_strands(request);
    if (request.exposed_at_ != nullptr)
        std::exchange(request.exposed_at_, nullptr)->conceal(request.exposed_);
    request.stage_ = SendRequest::Stage::idle;
    complete(request, error);
}

// The receive that a request met, matched now: reads the message, or says where to write it.
void Runtime::answer(ReceiveRequest& request, Rank source, Tag tag, const RequestBody& body) {
    Peer& peer = peers_[source];
    if (request.landing_ != 0) close_landing(request);
    request.status_.source = source;
    request.status_.tag = tag;
    request.status_.bytes = body.bytes;
    request.departure_ = body.departure;
    const DepartureBody pulled{body.departure, 0};
    if (body.bytes > request.buffer_.bytes || body.bytes == 0) {
        send_body(peer, PacketKind::pulled, pulled);
        return complete(request, body.bytes == 0 ? Error::none : Error::truncated);
    }
    request.expected_ = body.bytes;
    const transport::RemoteMemory mine = open_landing(request, peer);
    Connection& connection = connection_to(peer);
    if (connection.peer == source && body.memory.length >= body.bytes &&
        connection.channel->can_read(body.memory)) {
        const Transfer transfer =
            request.buffer_.layout != nullptr
                ? read_layout(request, connection, body.memory, std::size_t(body.bytes))
                : connection.channel->read(body.memory, 0,
                                           {request.buffer_.base, std::size_t(body.bytes)},
                                           std::uint64_t(request.landing_) << 32);
        if (transfer != Transfer::refused) {
            connection.statistics.bytes_read += body.bytes;
            if (transfer == Transfer::pending) {
                request.reading_ = true;
                return;
            }
            send_body(peer, PacketKind::pulled, pulled);
            return finish_landing(request);
        }
    }
    send_body(peer, PacketKind::clear, ClearBody{body.departure, request.landing_, mine});
}

// Gives the receive an id under which its memory may be written, and the memory's name.
transport::RemoteMemory Runtime::open_landing(ReceiveRequest& request, Peer& peer) {
    request.landing_ = landings_.add(request);
    request.landed_ = 0;
    request.parts_ = request.parts_landed_ = 0;
    request.crossed_ = false;
    if (request.buffer_.layout != nullptr || request.buffer_.bytes == 0) return {};
    const transport::Bytes memory{request.buffer_.base, request.buffer_.bytes};
    const Connection& connection = connection_to(peer);
    if (connection.interface == nullptr) return Loopback::expose(memory);
    // Who is further away sends packets, whose bytes the last relay may put into place.
    const bool far = connection.peer != peer.rank;
    if (far && (peer.placing == nullptr || memory.size() < options_.eager_limit)) return {};
    request.exposed_at_ = far ? peer.placing : connection.interface;
    request.exposed_ = request.exposed_at_->expose(memory, far ? nullptr : connection.channel);
    return request.exposed_;
}

void Runtime::close_landing(ReceiveRequest& request) {
    landings_.remove(request.landing_);
    request.landing_ = 0;
    if (request.exposed_at_ != nullptr)
        std::exchange(request.exposed_at_, nullptr)->conceal(request.exposed_);
    if (request.announced_) {
        request.announced_ = false;
        --peers_[request.peer_].matching().announced;
    }
}

void Runtime::finish_landing(ReceiveRequest& request) {
    close_landing(request);
    complete(request);
}

bool Runtime::on_request(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    RequestBody body;
    if (header.tag < 0 || !read_body(header, payload, body)) return false;
    ++peer.matching().seen;
    if (ReceiveRequest* request = matching_.match_posted(header.context, peer.rank, header.tag))
        answer(*request, peer.rank, header.tag, body);
    else
        matching_.keep(make_unexpected(peer.rank, header.context, header.tag, body));
    return true;
}

// The send of ours that a peer's answer names, no longer waiting; null where the peer may not name
// it.
SendRequest* Runtime::take_answered(const Peer& peer, std::uint32_t departure) {
    SendRequest* request = departures_.find(departure);
    if (request == nullptr || request->peer_ != peer.rank ||
        request->stage_ != SendRequest::Stage::wait_answer)
        return nullptr;
    stop_waiting(*request);
    return request;
}

bool Runtime::on_clear(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    ClearBody body;
    if (!read_body(header, payload, body)) return false;
    SendRequest* request = take_answered(peer, body.departure);
    if (request == nullptr) return false;
    begin_write(*request, body.landing, body.memory, false);
    return true;
}

bool Runtime::on_pulled(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    DepartureBody body;
    if (!read_body(header, payload, body)) return false;
    SendRequest* request = take_answered(peer, body.departure);
    if (request == nullptr) return false;
    finish_send(*request);
    return true;
}

bool Runtime::on_matched(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    MatchedBody body;
    if (!read_body(header, payload, body)) return false;
    ReceiveRequest* request = landings_.find(body.landing);
    if (request == nullptr || request->peer_ != peer.rank || body.bytes > request->buffer_.bytes ||
        body.bytes == 0)
        return false;
    if (request->flow_ != nullptr) {
        if (request->posted_) {
            if (request->flow_->first != request) return false;
            next_started(*request->flow_);
        }
    } else {
        if (!request->posted_) return false;
        matching_.remove(*request);
        ++peer.matching().seen;
    }
    request->status_.source = peer.rank;
    request->status_.tag = request->tag_;
    request->status_.bytes = body.bytes;
    request->expected_ = body.bytes;
    request->crossed_ = false;
    if (request->landed_ > request->expected_) return false;
    if (body.whole != 0)
        finish_landing(*request);
    else
        finish_if_landed(*request);  // over other links the bytes may have been faster than this
    return true;
}

void Runtime::finish_if_landed(ReceiveRequest& request) {
    if (request.posted_ || request.crossed_) return;
    const bool written = request.parts_ != 0 && request.parts_landed_ == request.parts_;
    if (written || request.landed_ == request.expected_) finish_landing(request);
}

// Whether bytes for this landing may come from that peer now: its message is matched, or is about
// to be because the receive was announced to it alone.
bool Runtime::may_land(const ReceiveRequest& request, const Peer& peer) {
    return request.posted_ ? request.peer_ == peer.rank : request.status_.source == peer.rank;
}

bool Runtime::on_data(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    DataBody body;
    if (!read_body(header, payload, body)) return false;
    ReceiveRequest* request = landings_.find(body.landing);
    const std::size_t behind = header.length - sizeof body;
    if (body.placed != 0 && behind != 0) return false;
    const std::size_t bytes = body.placed != 0 ? body.placed : behind;
    if (request == nullptr || !may_land(*request, peer)) return false;
    const std::size_t room = request->posted_ ? request->buffer_.bytes : request->expected_;
    if (body.offset > room || bytes > room - body.offset || bytes > room - request->landed_)
        return false;
    // Placed bytes were written ahead of this packet, to where our own name of the memory allows.
    if (body.placed == 0) request->buffer_.unpack(body.offset, payload + sizeof body, bytes);
    request->landed_ += bytes;
    finish_if_landed(*request);
    return true;
}

bool Runtime::on_written(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    WrittenBody body;
    if (!read_body(header, payload, body)) return false;
    return part_written(peer, body);
}

void Runtime::on_notice(transport::Channel& channel, std::uint64_t notice) {
    auto& connection = *static_cast<Connection*>(channel.owner);
    stirred_ = true;
    if (connection.down) return;
    Peer& peer = peers_[connection.peer];
    if (!peer.dead &&
        !part_written(peer, WrittenBody{std::uint32_t(notice), std::uint32_t(notice >> 32)}))
        close(connection, Error::protocol, "a write for memory that awaits none");
}

bool Runtime::part_written(Peer& peer, const WrittenBody& body) {
    ReceiveRequest* request = landings_.find(body.landing);
    if (request == nullptr || !may_land(*request, peer) || body.parts == 0 ||
        body.parts > most_parts || (request->parts_ != 0 && request->parts_ != body.parts))
        return false;
    request->parts_ = std::uint8_t(body.parts);
    ++request->parts_landed_;
    finish_if_landed(*request);
    return true;
}

}  // namespace torusmp::core

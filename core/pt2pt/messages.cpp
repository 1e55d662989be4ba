// SPDX-License-Identifier: BSD-3-Clause
#include "core/pt2pt/messages.h"

#include <algorithm>

#include "base/assert.h"

namespace torusmp::core {

using transport::PacketHeader;

Messages::~Messages() {
    std::vector<Unexpected*> left;
    matching_.for_each_unexpected([&](Unexpected& message) { left.push_back(&message); });
    for (Unexpected* message : left) store_.drop(*message);
}

Connection* Messages::cable(routing::Direction direction) {
    const Rank dest = *commons_.torus().neighbour(commons_.rank(), direction);
    return connections_.peer(dest).ways_out != 0 ? connections_.link(direction) : nullptr;
}

bool Messages::send_at_once(transport::ConstBytes message, Rank dest, Context context, Tag tag) {
    Peer& peer = connections_.peer(dest);
    Connection* const connection = peer.quick;
    if (message.size() >= peer.holds_from || connection == nullptr || peer.dead ||
        !sender_.may_leave(*connection) || !announcements_.count_sent(dest, context, tag))
        [[unlikely]]
        return false;
    sender_.transmit_eager(*connection, peer, context, tag, message);
    return true;
}

void Messages::send(SendRequest& request, const Buffer& buffer, Rank dest, Connection* link,
                    Context context, Tag tag, SendMode mode) {
    commons_.open(request, buffer, dest);
    request.context_ = context;
    request.tag_ = tag;
    request.flow_ = nullptr;
    request.link_ = link;
    Peer& peer = connections_.peer(dest);
    if (peer.dead) return sends_.finish(request, Error::unreachable);

    TORUSMP_ASSERT(request.stage() == SendRequest::Stage::idle && request.send_handle_ == 0,
                   commons_.rank(), dest, request.stage(), request.send_handle_);
    const auto announced = announcements_.take(dest, context, tag);
    // A small message with an announced receive needs no request.
    const bool small = mode != SendMode::synchronous && commons_.options.is_eager(buffer.bytes);
    if (small && announced && stores(*announced, buffer, peer)) [[unlikely]]
        return begin_write(request, *announced);
    if (small && (announced || !waits_here(peer, buffer.bytes))) {
        Connection& connection = link != nullptr ? *link : connections_.way(peer);
        if (!sender_.may_leave(connection))
            return peer.dead ? sends_.finish(request, Error::unreachable)
                             : queue(request, peer, connection);
        PacketHeader header = sender_.header_to(peer, PacketKind::eager, buffer.bytes);
        header.sequence = peer.send_sequence++;
        header.context = context;
        header.tag = tag;
        sender_.transmit_message(connection, header, buffer);
        return sends_.finish(request);
    }
    if (announced && buffer.bytes <= announced->bytes && buffer.bytes != 0)
        return begin_write(request, *announced);
    rendezvous_.ask(request, peer);
}

void Messages::begin_write(SendRequest& request, const Announcement& announced) {
    writes_.begin(request, {announced.receive_handle, announced.memory, announced.converging},
                  true);
}

// Whether a small message is rather stored in the announced memory.
bool Messages::stores(const Announcement& announced, const Buffer& buffer, Peer& peer) {
    return buffer.bytes >= commons_.options.store_limit && buffer.bytes <= announced.bytes &&
           connections_.to(peer).channel->map(announced.memory, 0, buffer.bytes) != nullptr;
}

void Messages::queue(SendRequest& request, Peer& peer, Connection& connection) {
    request.become(SendRequest::Stage::eager);
    request.sender_ = this;
    request.sequence_ = peer.send_sequence++;
    sender_.enqueue(connection, request, PacketSender::Queue::message);
}

// Sends a message that had to wait, in its turn.
bool Messages::emit(SendRequest& request, Connection& connection) {
    Peer& peer = connections_.peer(request.peer_);
    if (peer.dead) {
        sends_.finish(request, Error::unreachable);
        return true;
    }
    TORUSMP_ASSERT(request.stage() == SendRequest::Stage::eager, commons_.rank(), peer.rank,
                   request.stage(), request.sequence_);
    TORUSMP_ASSERT(std::int32_t(peer.send_sequence - request.sequence_) > 0, commons_.rank(),
                   peer.rank, request.sequence_, peer.send_sequence);
    const bool flows = request.flow_ != nullptr;
    // A send that names its link stays as it is: requests use only one path. So does a send of a
    // flow, which an announcement of its receive may have passed; a flow has only one at a time.
    if (!flows && request.link_ == nullptr && waits_here(peer, request.buffer_.bytes)) {
        rendezvous_.ask_by(connection, request, peer);
        return true;
    }
    PacketHeader header = sender_.header_to(
        peer, flows ? PacketKind::flow_eager : PacketKind::eager, request.buffer_.bytes);
    header.sequence = request.sequence_;
    header.context = flows ? request.flow_->label : request.context_;
    header.tag = request.tag_;
    sender_.transmit_message(connection, header, request.buffer_);
    sends_.finish(request);
    return true;
}

inline void Messages::receive_here(ReceiveRequest& request, Rank source, Context context, Tag tag) {
    commons_.open(request, source);
    request.context_ = context;
    request.tag_ = tag;
    request.flow_ = nullptr;
    if (matching_.unexpected() != 0)
        if (Unexpected* message = claim(source, context, tag)) return take(request, *message);
    if (source != any_source) {
        if (connections_.peer(source).dead) return commons_.complete(request, Error::unreachable);
    } else if (matching_.suspends_any() && matching_.suspends(context)) [[unlikely]] {
        if (!request.pends_) return commons_.complete(request, Error::unreachable);
        matching_.post(request);
        return report_pending(request);
    }
    const bool announce = (!commons_.options.is_eager(request.bytes()) ||
                           (request.bytes() >= commons_.options.store_limit &&
                            announcements_.may_be_stored(request))) &&
                          announcements_.worth_it(request);
    matching_.post(request);
    if (announce) announcements_.announce(request);
}

void Messages::receive(ReceiveRequest& request, const Buffer& buffer, Rank source, Context context,
                       Tag tag) {
    request.buffer_ = buffer;
    receive_here(request, source, context, tag);
}

void Messages::receive_block(ReceiveRequest& request, transport::Bytes block, Rank source,
                             Context context, Tag tag) {
    request.buffer_.base = block.data();
    request.buffer_.bytes = block.size();
    request.buffer_.layout = nullptr;
    receive_here(request, source, context, tag);
}

Unexpected* Messages::claim(Rank source, Context context, Tag tag) {
    Unexpected* message = matching_.find_unexpected(context, source, tag);
    if (message != nullptr) matching_.remove(*message);
    return message;
}

void Messages::receive(ReceiveRequest& request, const Buffer& buffer, Unexpected& claimed) {
    commons_.open(request, buffer, claimed.source);
    request.context_ = claimed.context;
    request.tag_ = claimed.tag;
    request.flow_ = nullptr;
    take(request, claimed);
}

inline void Messages::deliver_here(ReceiveRequest& request, Rank source, Tag tag,
                                   const std::byte* payload, std::size_t bytes) {
    TORUSMP_ASSERT(request.stage() == ReceiveRequest::Stage::idle, commons_.rank(), source, tag,
                   bytes, request.stage());
    if (request.receive_handle_ != 0) receives_.close(request);
    request.status_.source = source;
    request.status_.tag = tag;
    request.status_.bytes = bytes;
    request.buffer_.unpack(0, payload, std::min(bytes, request.buffer_.bytes));
    commons_.complete(request, bytes > request.buffer_.bytes ? Error::truncated : Error::none);
}

void Messages::deliver(ReceiveRequest& request, Rank source, Tag tag, const std::byte* payload,
                       std::size_t bytes) {
    deliver_here(request, source, tag, payload, bytes);
}

bool Messages::on_eager(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    if (header.tag < 0 || !commons_.options.is_eager(header.length)) return false;
    ++states_[peer.rank].seen;
    if (ReceiveRequest* request = matching_.match_posted(header.context, peer.rank, header.tag)) {
        deliver_here(*request, peer.rank, header.tag, payload, header.length);
        return true;
    }
    keep(peer, header, payload);
    return true;
}

void Messages::keep(const Peer& peer, const PacketHeader& header, const std::byte* payload) {
    matching_.keep(store_.keep(connections_.peer(peer.rank), header.context, header.tag,
                               {payload, header.length}));
}

void Messages::take(ReceiveRequest& request, Unexpected& message) {
    if (message.is_request && connections_.peer(message.source).dead) {
        request.status_.source = message.source;
        request.status_.tag = message.tag;
        commons_.complete(request, Error::unreachable);
    } else if (message.abandoned) {
        request.status_.tag = message.tag;
        request.peer_ = message.source;
        request.tag_ = no_tag;
        matching_.post(request);
    } else if (message.is_request) {
        rendezvous_.answer(request, message.source, message.tag, message.request());
    } else {
        deliver(request, message.source, message.tag, message.payload(), message.bytes);
    }
    store_.give_back(message);
}

// Wildcard receives end too, because they may wait for a message that will not arrive; unless the
// job continues, and the caller decides which of them do.
void Messages::peer_lost(Peer& peer, Error error) {
    const bool wildcards = !commons_.options.tolerates_deaths;
    std::vector<ReceiveRequest*> lost;
    matching_.for_each_posted([&](ReceiveRequest& request) {
        if (request.peer_ == peer.rank || (wildcards && request.peer_ == any_source))
            lost.push_back(&request);
    });
    for (ReceiveRequest* request : lost) end(*request, peer.rank, error);
}

void Messages::end(ReceiveRequest& request, Rank source, Error error) {
    matching_.remove(request);
    if (request.receive_handle_ != 0) receives_.close(request);
    request.status_.source = source;
    commons_.complete(request, error);
}

// The request stays open and posted. A message that it matches completes it.
void Messages::report_pending(ReceiveRequest& request) {
    request.status_.error = Error::pending;
    request.complete_.store(true, std::memory_order_release);
    commons_.stirred = true;
}

void Messages::suspend_wildcards(Context context) {
    matching_.suspend(context);
    std::vector<ReceiveRequest*> waiting;
    matching_.for_each_posted([&](ReceiveRequest& request) {
        if (request.peer_ == any_source && request.context_ == context && !request.complete())
            waiting.push_back(&request);
    });
    for (ReceiveRequest* request : waiting)
        if (request->pends_)
            report_pending(*request);
        else
            end(*request, any_source, Error::unreachable);
}

void Messages::resume_wildcards(Context context) {
    matching_.resume(context);
    matching_.for_each_posted([&](ReceiveRequest& request) {
        if (request.context_ == context && request.complete()) request.reopen();
    });
}

void Messages::report(Waits& waits) const {
    matching_.for_each_posted([&](const ReceiveRequest& r) {
        waits.add(Waits::Operation{.kind = Waits::Operation::Kind::receive,
                                   .peer = r.peer_,
                                   .context = r.context_,
                                   .tag = r.tag_ == no_tag ? r.status_.tag : r.tag_,
                                   .bytes = r.buffer_.bytes,
                                   .id = static_cast<const Request*>(&r)});
    });
    matching_.for_each_unexpected([&](const Unexpected& m) {
        waits.add(Waits::Message{.at_sender = m.is_request,
                                 .source = m.source,
                                 .context = m.context,
                                 .tag = m.tag,
                                 .bytes = m.bytes});
    });
}

}  // namespace torusmp::core

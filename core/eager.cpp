// Messages that travel whole: copied through a slot, matched on arrival.
#include <algorithm>

#include "core/runtime.h"

namespace torusmp::core {

using transport::PacketHeader;

void Runtime::send(SendRequest& request, Buffer buffer, Rank dest, Context context, Tag tag,
                   SendMode mode) {
    Guard guard(*this);
    start_send(request, buffer, dest, nullptr, context, tag, mode);
}

void Runtime::send_by(SendRequest& request, Buffer buffer, routing::Direction link, Context context,
                      Tag tag) {
    Guard guard(*this);
    const Rank dest = *options_.torus.neighbour(options_.rank, link);
    Connection* cable = peers_[dest].ways_out != 0 ? links_[link.index()] : nullptr;
    start_send(request, buffer, dest, cable, context, tag, SendMode::standard);
}

void Runtime::start_send(SendRequest& request, Buffer buffer, Rank dest, Connection* link,
                         Context context, Tag tag, SendMode mode) {
    open(request, buffer, dest);
    request.context_ = context;
    request.tag_ = tag;
    request.flow_ = nullptr;
    request.link_ = link;
    request.mode_ = mode;
    Peer& peer = peers_[dest];
    if (peer.dead) return finish_send(request, Error::unreachable);

    MatchState& match = peer.matching();
    std::optional<Announcement> told;
    if (!match.held.empty()) told = take_announcement(match, context, tag);
    match.log[match.sent++ % MatchState::log_size] = {context, tag, told.has_value()};

    const bool large = buffer.bytes >= options_.eager_limit || mode == SendMode::synchronous;
    if (!large) {
        Connection& connection = way_of(request);
        if (connection.messages.empty() && may_enter(connection)) {
            PacketHeader header = header_to(peer, PacketKind::eager, buffer.bytes);
            header.sequence = peer.send_sequence++;
            header.context = context;
            header.tag = tag;
            transmit_message(connection, header, buffer);
            return finish_send(request);
        }
        request.stage_ = SendRequest::Stage::eager;
        request.sequence_ = peer.send_sequence++;
        return enqueue(connection, request, Lane::message);
    }
    if (told && buffer.bytes <= told->bytes && buffer.bytes != 0)
        return begin_write(request, told->landing, told->memory, true);
    ask(request, peer);
}

void Runtime::receive(ReceiveRequest& request, Buffer buffer, Rank source, Context context,
                      Tag tag) {
    Guard guard(*this);
    open(request, buffer, source);
    request.context_ = context;
    request.tag_ = tag;
    request.flow_ = nullptr;
    if (Unexpected* message = matching_.find_unexpected(context, source, tag)) {
        matching_.remove(*message);
        return take_unexpected(request, *message);
    }
    if (source != any_source && peers_[source].dead) return complete(request, Error::unreachable);
    const bool tell = worth_announcing(request);
    matching_.post(request);
    if (tell) announce(request);
}

std::optional<Status> Runtime::probe(Rank source, Context context, Tag tag) {
    Guard guard(*this);
    const Unexpected* message = matching_.find_unexpected(context, source, tag);
    if (message == nullptr) return std::nullopt;
    return message->status();
}

Unexpected* Runtime::claim(Rank source, Context context, Tag tag) {
    Guard guard(*this);
    Unexpected* message = matching_.find_unexpected(context, source, tag);
    if (message != nullptr) matching_.remove(*message);
    return message;
}

void Runtime::receive(ReceiveRequest& request, Buffer buffer, Unexpected& claimed) {
    Guard guard(*this);
    open(request, buffer, claimed.source);
    request.context_ = claimed.context;
    request.tag_ = claimed.tag;
    request.flow_ = nullptr;
    take_unexpected(request, claimed);
}

void Runtime::for_each_unexpected(const std::function<void(Context, const Status&)>& visit) const {
    Guard guard(*this);
    matching_.for_each_unexpected(
        [&](const Unexpected& message) { visit(message.context, message.status()); });
}

bool Runtime::on_eager(Peer& peer, const PacketHeader& header, const std::byte* payload) {
    if (header.tag < 0 || header.length >= std::max<std::size_t>(options_.eager_limit, 1))
        return false;
    ++peer.matching().seen;
    if (ReceiveRequest* request = matching_.match_posted(header.context, peer.rank, header.tag)) {
        finish_eager(*request, peer.rank, header.tag, payload, header.length);
        return true;
    }
    matching_.keep(make_unexpected(peer.rank, header.context, header.tag, payload, header.length));
    return true;
}

void Runtime::finish_eager(ReceiveRequest& request, Rank source, Tag tag, const std::byte* payload,
                           std::size_t bytes) {
    if (request.announced_) close_landing(request);
    request.status_.source = source;
    request.status_.tag = tag;
    request.status_.bytes = bytes;
    request.buffer_.unpack(0, payload, std::min(bytes, request.buffer_.bytes));
    complete(request, bytes > request.buffer_.bytes ? Error::truncated : Error::none);
}

Unexpected& Runtime::make_unexpected(Rank source, Context context, Tag tag,
                                     const std::byte* payload, std::size_t bytes) {
    auto* message = ::new (pool_.take(sizeof(Unexpected) + bytes)) Unexpected{};
    message->context = context;
    message->source = source;
    message->tag = tag;
    message->bytes = bytes;
    if (bytes != 0) std::memcpy(message->payload(), payload, bytes);
    return *message;
}

Unexpected& Runtime::make_unexpected(Rank source, Context context, Tag tag,
                                     const RequestBody& request) {
    Unexpected& message = make_unexpected(source, context, tag, nullptr, 0);
    message.is_request = true;
    message.request = request;
    return message;
}

// A receive meets a message that was there before it.
void Runtime::take_unexpected(ReceiveRequest& request, Unexpected& message) {
    if (message.is_request && peers_[message.source].dead) {
        request.status_.source = message.source;
        request.status_.tag = message.tag;
        complete(request, Error::unreachable);
    } else if (message.is_request)
        answer(request, message.source, message.tag, message.request);
    else
        finish_eager(request, message.source, message.tag, message.payload(), message.bytes);
    pool_.give(&message, sizeof(Unexpected) + message.bytes);
}

}  // namespace torusmp::core

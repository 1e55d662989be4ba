// SPDX-License-Identifier: BSD-3-Clause
#include "core/connection/packet_sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/trace.h"
#include "core/dispatch/packet_trace.h"

namespace torusmp::core {

using transport::PacketHeader;

namespace {

constexpr std::uint64_t most_without_poll = 2 << 20;  // bytes over a connection that is not a link

// A packet of core itself that found no credit, followed by its body; kept in the pool until it is
// sent.
class ControlMessage final : public Outgoing {
  public:
    ControlMessage(PacketSender& sender, Pool& pool, const PacketHeader& header)
        : sender_(sender), pool_(pool), header_(header) {}

    std::byte* body() { return reinterpret_cast<std::byte*>(this + 1); }

    bool emit(Connection& connection) override {
        sender_.transmit(connection, header_, {body(), header_.length});
        connection.statistics.count_control(header_.length);
        drop(Error::none);
        return true;
    }
    void drop(Error /*error*/) override { pool_.give(this, sizeof *this + header_.length); }

  private:
    PacketSender& sender_;
    Pool& pool_;
    PacketHeader header_;
};

}  // namespace

PacketHeader PacketSender::header_to(const Peer& peer, PacketKind kind, std::size_t bytes) const {
    PacketHeader header{};
    header.length = std::uint32_t(bytes);
    header.kind = std::uint8_t(kind);
    header.source = std::uint32_t(commons_.rank());
    header.destination = std::uint32_t(peer.rank);
    return header;
}

void PacketSender::take_credit(Connection& connection, PacketHeader& header) {
    TORUSMP_ASSERT(commons_.lock.held(), commons_.rank(), connection.peer);
    TORUSMP_ASSERT(header.virtual_channel < transport::max_virtual_channels, header.kind,
                   header.virtual_channel);
    TORUSMP_ASSERT(connection.credits.granted(header.virtual_channel) >= 1, commons_.rank(),
                   connection.peer, header.kind, header.virtual_channel,
                   connection.credits.granted(), connection.credits.limit(), connection.down());
    header.grants = grants_for(connection);
    connection.credits.take(header.virtual_channel);
    ++connection.statistics.packets_sent;
    connection.statistics.bytes_sent += header.length;
    if (pieces::is_first_hop(header)) connection.last_piece = connection.statistics.packets_sent;
}

void PacketSender::transmit(Connection& connection, PacketHeader& header,
                            transport::ConstBytes payload) {
    take_credit(connection, header);
    connection.channel->send(header, payload);
}

void PacketSender::transmit_packed(Connection& connection, PacketHeader& header,
                                   transport::ConstBytes prefix, const Buffer& buffer,
                                   std::size_t from, std::size_t bytes) {
    TORUSMP_ASSERT(from + bytes <= buffer.bytes, from, bytes, buffer.bytes);
    TORUSMP_ASSERT(prefix.size() + bytes <= commons_.options.body(), prefix.size(), bytes,
                   commons_.options.body());
    header.length = std::uint32_t(prefix.size() + bytes);
    take_credit(connection, header);
    if (buffer.layout == nullptr)  // no copy if the channel needs none
        return connection.channel->send_parts(header, prefix, {buffer.base + from, bytes});
    std::byte* slot = connection.channel->reserve(header.virtual_channel, header.length);
    std::copy(prefix.begin(), prefix.end(), slot);
    buffer.pack(from, slot + prefix.size(), bytes);
    connection.channel->commit(header);
}

void PacketSender::transmit_message(Connection& connection, PacketHeader& header,
                                    const Buffer& buffer) {
    if (buffer.layout == nullptr)
        transmit(connection, header, {buffer.base, buffer.bytes});
    else
        transmit_packed(connection, header, {}, buffer, 0, buffer.bytes);
}

void PacketSender::give_owed(Connection& connection) {
    TORUSMP_ASSERT(connection.credits.owed() != 0 && connection.credits.hold_invariant(),
                   commons_.rank(), connection.peer, connection.credits.owed(),
                   connection.credits.limit());
    ++connection.statistics.grants_sent;
    connection.channel->grant(connection.credits.take_owed());
}

void PacketSender::collect_grants(Connection& connection) {
    TORUSMP_ASSERT(connection.credits.hold_invariant(), commons_.rank(), connection.peer,
                   connection.credits.granted(), connection.credits.limit());
    if (!connection.credits.give_back(connection.channel->collect_grants()))
        faults_.close(connection, Error::protocol, "more credits returned than were taken");
}

void PacketSender::send_bytes(Connection& connection, Peer& peer, PacketKind kind,
                              transport::ConstBytes body, std::uint32_t context, Tag tag) {
    if (connection.down()) return;
    PacketHeader header = header_to(peer, kind, body.size());
    if (is_sequenced(kind)) header.sequence = peer.send_sequence++;
    header.context = context;
    header.tag = tag;
    send_again(connection, header, body);
}

void PacketSender::send_again(Connection& connection, const PacketHeader& packet,
                              transport::ConstBytes body) {
    TORUSMP_ASSERT(packet.length == body.size(), packet.kind, packet.length, body.size());
    TORUSMP_ASSERT(body.size() <= commons_.options.body(), packet.kind, body.size(),
                   commons_.options.body());
    TORUSMP_TRACE(packet, trace, commons_.rank(), "sends {} number {} to {} by {}, {} B{}",
                  kind_name(packet.kind), packet.sequence, packet.destination, connection.peer,
                  packet.length, connection.credits.may_enter() ? "" : ": waits for a credit");
    PacketHeader header = packet;
    if (connection.messages.empty() && connection.credits.may_enter()) {
        transmit(connection, header, body);
        connection.statistics.count_control(body.size());
        return;
    }
    auto* message = ::new (commons_.pool.take(sizeof(ControlMessage) + body.size()))
        ControlMessage(*this, commons_.pool, header);
    std::copy(body.begin(), body.end(), message->body());
    enqueue(connection, *message, Queue::message);
}

void PacketSender::enqueue(Connection& connection, Outgoing& item, Queue queue) {
    TORUSMP_ASSERT(std::count(backlog_.begin(), backlog_.end(), &connection) == connection.queued,
                   commons_.rank(), connection.peer, connection.queued, backlog_.size());
    TORUSMP_ASSERT(connection.queued || (connection.messages.empty() && connection.streams.empty()),
                   commons_.rank(), connection.peer);
    (queue == Queue::message ? connection.messages : connection.streams).push(item);
    if (!connection.credits.may_enter()) ++connection.statistics.credit_waits;
    if (connection.queued) return;
    connection.queued = true;
    backlog_.push_back(&connection);
}

bool PacketSender::flush_messages(Connection& connection) {
    bool moved = false;
    collect_grants(connection);
    while (!connection.messages.empty() && connection.credits.may_enter()) {
        Outgoing* item = connection.messages.pop();
        [[maybe_unused]] const bool done = item->emit(connection);
        TORUSMP_ASSERT(done, commons_.rank(), connection.peer);
        moved = true;
    }
    return moved;
}

// A fault found here leaves the connection down and its queues empty. A caller that only sends
// misses everything that arrives, even that the peer holds its messages, so it has to poll now and
// then.
bool PacketSender::make_way(Connection& connection) {
    if (connection.down() ||
        connection.statistics.load() - connection.load_at_poll > most_without_poll)
        return false;
    flush_messages(connection);
    return !connection.down() && connection.messages.empty() && connection.credits.may_enter();
}

// Messages first, then the streams in turns.
bool PacketSender::flush(Connection& connection) {
    connection.load_at_poll = connection.statistics.load();
    bool moved = flush_messages(connection);
    int left = connection.link ? pieces::per_turn : std::numeric_limits<int>::max();
    while (connection.messages.empty() && !connection.streams.empty() &&
           pieces::may_enter(connection) && left-- > 0) {
        Outgoing* item = connection.streams.pop();
        if (!item->emit(connection)) connection.streams.push(*item);
        moved = true;
    }
    return moved;
}

bool PacketSender::flush_backlog() {
    bool moved = false;
    for (std::size_t i = 0; i < backlog_.size();) {
        Connection& connection = *backlog_[i];
        TORUSMP_ASSERT(connection.queued, commons_.rank(), connection.peer, i, backlog_.size());
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

void PacketSender::drop_queues(Connection& connection, Error error) {
    while (!connection.messages.empty()) connection.messages.pop()->drop(error);
    while (!connection.streams.empty()) connection.streams.pop()->drop(error);
}

bool PacketSender::idle() const {
    const auto all = connections_.all();
    return std::all_of(all.begin(), all.end(), [](const auto& c) {
        return c->messages.empty() && c->streams.empty() && !c->held.any();
    });
}

bool PacketSender::credits_home() const {
    for (const auto& c : connections_.all()) {
        if (c->down()) continue;
        if (!c->credits.give_back(c->channel->collect_grants()) ||
            !c->credits.are_home(std::max(c->virtual_channels, 1)))
            return false;
    }
    return true;
}

void PacketSender::report(Waits& waits) const {
    for (const auto& c : connections_.all()) {
        if (c->down()) continue;
        const transport::Channel::Unanswered found = c->channel->unanswered();
        if (found.bytes == 0 && !found.apart) continue;
        waits.links.push_back({.name = commons_.name_of(*c),
                               .peer = c->peer,
                               .direction = c->link ? c->link->index() : -1,
                               .bytes = found.bytes,
                               .silent = std::chrono::duration<double>(found.silence).count(),
                               .apart = found.apart});
    }
    for (const auto& c : connections_.all())
        if (!c->messages.empty() || !c->streams.empty() || c->held.any())
            waits.queues.push_back({.name = commons_.name_of(*c),
                                    .peer = c->peer,
                                    .credits = c->credits.granted(0),
                                    .of = c->credits.limit(0),
                                    .relays = c->link && c->held.any(),
                                    .down = c->down()});
}

}  // namespace torusmp::core

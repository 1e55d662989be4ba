// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/link_control.h"

#include <span>

#include "base/assert.h"

namespace torusmp::core {

using routing::Link;
using transport::Channel;
using transport::ConstBytes;
using transport::PacketHeader;

namespace {

constexpr std::size_t most_news = 64;  // in one packet

template <class Body>
ConstBytes bytes_of(const Body& body) {
    return std::as_bytes(std::span(&body, 1));
}

}  // namespace

PacketHeader LinkControl::header_of(const Connection& connection, LinkFrame kind,
                                    std::size_t bytes) const {
    PacketHeader header{};
    header.length = std::uint32_t(bytes);
    header.kind = std::uint8_t(kind);
    header.virtual_channel = std::uint8_t(virtual_channel_);
    header.source = std::uint32_t(commons_.rank());
    header.destination = std::uint32_t(connection.peer);
    header.tag = connection.link->index();
    return header;
}

// Precondition: there is a credit.
void LinkControl::send(Connection& connection, Channel& channel, LinkFrame kind, ConstBytes body,
                       const LinkSetup* setup) {
    PacketHeader header = header_of(connection, kind, body.size());
    if (setup != nullptr) {
        header.source = std::uint32_t(setup->source);
        header.destination = std::uint32_t(setup->destination);
        header.tag = setup->direction;
    }
    sender_.take_credit(connection, header);
    connection.statistics.count_control(body.size());
    channel.send(header, body);
}

bool LinkControl::flush(LinkCarrier& it) {
    Channel* const cable = it.cable();
    Connection& connection = *it.connection;
    if (cable == nullptr || connection.down()) {
        it.drop_queues();
        return false;
    }
    bool moved = false;
    while (!it.news.empty() && has_credit(connection)) {
        std::array<NewsBody, most_news> bodies;
        std::size_t count = 0;
        while (count < most_news && !it.news.empty()) {
            const Link link = it.news.extract(it.news.begin()).value();
            bodies[count++] = {std::uint32_t(link.rank), std::uint32_t(link.dimension),
                               states_.version(link), 0};
        }
        send(connection, *cable, LinkFrame::news, std::as_bytes(std::span(bodies).first(count)));
        moved = true;
    }
    while (!it.setups.empty() && it.news.empty() && has_credit(connection)) {
        const LinkSetup setup = it.setups.extract(it.setups.begin()).mapped();
        send(connection, *cable, LinkFrame::setup, bytes_of(setup.body), &setup);
        moved = true;
    }
    if (it.end != nullptr && it.end->must_confirm() && has_credit(connection)) {
        send(connection, *cable, LinkFrame::confirm, bytes_of(it.end->confirmation()));
        moved = true;
    }
    return moved;
}

void LinkControl::greet(LinkEnd& end) {
    if (!end.owes_hello() || !has_credit(end.connection())) return;
    end.greet();
    const HelloBody body{LinkStates::life(states_.version(end.link())), end.heard() ? 1u : 0u};
    send(end.connection(), *end.candidate(), LinkFrame::hello, bytes_of(body));
}

void LinkControl::take_leave(LinkEnd& end) {
    TORUSMP_ASSERT(end.closed(), commons_.rank(), end.connection().peer);
    if (!end.owes_farewell()) return;
    end.greet();
    const HelloBody body{LinkStates::life(states_.version(end.link())), HelloBody::farewell};
    end.candidate()->send(header_of(end.connection(), LinkFrame::hello, sizeof body),
                          bytes_of(body));
}

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
// The control packets that ranks exchange about links.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/trace.h"
#include "core/link/link_manager.h"

namespace torusmp::core {

using routing::Direction;
using routing::Link;
using transport::Channel;
using transport::ConstBytes;
using transport::PacketHeader;
using transport::Verdict;

namespace {

constexpr std::size_t most_news = 64;  // in one packet
// Writes whose confirmation may wait for the next one.
constexpr std::uint32_t most_unconfirmed = 8;

template <class Body>
ConstBytes bytes_of(const Body& body) {
    return std::as_bytes(std::span(&body, 1));
}

}  // namespace

bool LinkManager::has_credit(Connection& connection, int virtual_channel) {
    if (connection.credits.granted(virtual_channel) != 0) return true;
    sender_.collect_grants(connection);
    return !connection.down() && connection.credits.granted(virtual_channel) != 0;
}

// Precondition: there is a credit.
void LinkManager::send_control(Connection& connection, Channel& channel, LinkFrame kind,
                               ConstBytes body, const Setup* setup) {
    PacketHeader header{};
    header.length = std::uint32_t(body.size());
    header.kind = std::uint8_t(kind);
    header.virtual_channel = std::uint8_t(control_vc_);
    header.source = std::uint32_t(setup != nullptr ? setup->source : commons_.rank());
    header.destination = std::uint32_t(setup != nullptr ? setup->destination : connection.peer);
    header.tag = setup != nullptr ? setup->direction : connection.link->index();
    sender_.take_credit(connection, header);
    connection.statistics.count_control(body.size());
    channel.send(header, body);
}

// While a further write is arriving, its confirmation also covers the earlier ones.
bool LinkManager::confirms_later(const LinkEnd& end, const Channel& cable) {
    return cable.write_arriving() && end.unconfirmed_ < most_unconfirmed;
}

// Sends news first: see settle().
bool LinkManager::flush(Hop& it) {
    Channel* const cable = cable_of(it);
    Connection& connection = *it.connection;
    if (cable == nullptr || connection.down()) {
        it.news.clear();
        it.setups.clear();
        it.confirms = false;
        return false;
    }
    bool moved = false;
    while (!it.news.empty() && has_credit(connection, control_vc_)) {
        std::array<NewsBody, most_news> bodies;
        std::size_t count = 0;
        while (count < most_news && !it.news.empty()) {
            const Link link = it.news.extract(it.news.begin()).value();
            bodies[count++] = {std::uint32_t(link.rank), std::uint32_t(link.dimension),
                               states_.version(link), 0};
        }
        send_control(connection, *cable, LinkFrame::news,
                     std::as_bytes(std::span(bodies).first(count)));
        moved = true;
    }
    while (!it.setups.empty() && it.news.empty() && has_credit(connection, control_vc_)) {
        const Setup setup = it.setups.extract(it.setups.begin()).mapped();
        send_control(connection, *cable, LinkFrame::setup, bytes_of(setup.body), &setup);
        moved = true;
    }
    TORUSMP_ASSERT(!it.confirms || it.end != nullptr, commons_.rank(), connection.peer);
    if (it.confirms && !confirms_later(*it.end, *cable) && has_credit(connection, control_vc_)) {
        it.confirms = false;
        it.end->unconfirmed_ = 0;
        send_control(connection, *cable, LinkFrame::confirm,
                     bytes_of(ConfirmBody{it.end->notices_, 0}));
        moved = true;
    }
    return moved;
}

// Each end sends a hello, and a second one when it has heard the other: the cable then works in
// both directions.
void LinkManager::greet(LinkEnd& end) {
    if (end.candidate_ == nullptr || end.candidate_->connecting()) return;
    learn(end.link_, LinkStates::with_hope(states_.version(end.link_)), nullptr);
    const std::uint32_t due = end.heard_ ? 2 : 1;
    if (end.greeted_ >= due || !has_credit(end.connection_, control_vc_)) return;
    end.greeted_ = due;
    const HelloBody body{LinkStates::life(states_.version(end.link_)), end.heard_ ? 1u : 0u};
    send_control(end.connection_, *end.candidate_, LinkFrame::hello, bytes_of(body));
}

Verdict LinkManager::on_packet(Connection& in, const Channel& channel, const PacketHeader& header,
                               const std::byte* payload) {
    const bool control = header.virtual_channel == control_vc_;
    const auto kind = LinkFrame(header.kind);
    if (!control && kind == LinkFrame::detour) return take_detoured(in, header, payload);
    const bool from_there = header.source == std::uint32_t(in.peer) &&
                            header.destination == std::uint32_t(commons_.rank()) &&
                            header.tag == in.link->opposite().index();
    if (control && kind == LinkFrame::hello && !from_there && in.end != nullptr) {
        refuse_cable(*in.end, channel, header);
        return Verdict::taken;
    }
    const bool well = control && (from_there || kind == LinkFrame::setup) &&
                      (kind == LinkFrame::news      ? take_news(in, header, payload)
                       : kind == LinkFrame::hello   ? take_hello(in, channel, header, payload)
                       : kind == LinkFrame::setup   ? take_setup(in, channel, header, payload)
                       : kind == LinkFrame::confirm ? take_confirm(in, channel, header, payload)
                                                    : false);
    if (!well)
        faults_.close(in, Error::protocol,
                      fmt::format("a packet about links of kind {} and {} B that the protocol does "
                                  "not allow",
                                  header.kind, header.length));
    return Verdict::taken;
}

// Handles a cable that was plugged in elsewhere while it was away.
void LinkManager::refuse_cable(LinkEnd& end, const Channel& channel, const PacketHeader& header) {
    if (&channel != end.candidate_) return;
    const int ports = 2 * commons_.torus().dimensions();
    const std::string port =
        header.tag < 0 || header.tag >= ports
            ? fmt::format("port {}", header.tag)
            : fmt::format("link {}{}", header.tag / 2, header.tag % 2 == 0 ? '+' : '-');
    faults_.tell_fault(
        fmt::format("{} has no cable: the cable plugged in there leads to {} of {}; "
                    "expected {}. Plug it in where the geometry file says.",
                    commons_.name_of(end.connection_), port, commons_.name_of(Rank(header.source)),
                    commons_.name_of(end.connection_.peer)));
    end.give_candidate_up("it is not the cable of this link");
    ++end.lost_;
    look_again(end, true);
}

bool LinkManager::take_news(Connection& in, const PacketHeader& header, const std::byte* payload) {
    NewsBody body;
    if (header.length == 0 || header.length % sizeof body != 0) return false;
    const routing::Torus& torus = commons_.torus();
    for (std::size_t at = 0; at < header.length; at += sizeof body) {
        std::memcpy(&body, payload + at, sizeof body);
        if (body.rank >= std::uint32_t(torus.size()) ||
            body.dimension >= std::uint32_t(torus.dimensions()))
            return false;
        const Link link{Rank(body.rank), int(body.dimension)};
        if (!torus.neighbour(link.rank, link.direction())) return false;
        learn(link, body.version, &in);
    }
    return true;  // consequences follow once for everything received: see settle()
}

bool LinkManager::take_hello(Connection& in, const Channel& channel, const PacketHeader& header,
                             const std::byte* payload) {
    HelloBody body;
    if (header.length != sizeof body || in.end == nullptr) return false;
    std::memcpy(&body, payload, sizeof body);
    LinkEnd& end = *in.end;
    // This cable may be the only path to ranks that know of a later death.
    if (&channel == end.candidate_ && LinkStates::is_dead(body.version) &&
        body.version > LinkStates::life(states_.version(end.link_))) {
        learn(end.link_, body.version, nullptr);
        settle();
    }
    const std::uint32_t version = LinkStates::life(states_.version(end.link_));
    // A peer that refers to an earlier version is sent ours.
    if (&channel != end.candidate_ || body.version != version || !LinkStates::is_dead(version))
        return true;
    end.heard_ = true;
    greet(end);
    if (end.first() && body.heard != 0) {
        learn(end.link_, LinkStates::back(version), nullptr);
        settle();
    }
    return true;
}

bool LinkManager::take_setup(Connection& in, const Channel& channel, const PacketHeader& header,
                             const std::byte* payload) {
    SetupBody body;
    if (header.length != sizeof body || header.tag < 0 ||
        header.tag >= 2 * commons_.torus().dimensions())
        return false;
    std::memcpy(&body, payload, sizeof body);
    const Rank source = Rank(header.source);
    const Rank destination = Rank(header.destination);
    const auto direction = Direction::from_index(header.tag);
    if (commons_.torus().neighbour(source, direction) != destination) return false;
    settle();
    if (body.by_cable != 0) {
        LinkEnd* const end = in.end;
        if (end == nullptr || destination != commons_.rank() || source != in.peer ||
            direction.opposite() != *in.link)
            return false;
        if (&channel != end->cable_ || body.state != end->cable_version_) return true;
        if (end->closed_ || end->agreed_ || end->on_cable()) return true;
        if (!end->take_setup(body) || !confirm_writes(*end, body.notices)) return false;
        TORUSMP_TRACE(link, info, commons_.rank(), "agrees with rank {} on their cable, version {}",
                      end->connection_.peer, end->cable_version_);
        tell(*end, routing::LinkNews::State::alive);
        end->resume_on_cable();
        commons_.stirred = true;
        return true;
    }
    // A sender under another state knows less than this rank, or its news is on the way.
    if (body.state != states_.digest()) return true;
    const auto path = states_.crossing(commons_.rank(), source, direction);
    if (!path || !path->in || *path->in != *in.link) return false;
    if (path->out) {
        hop(*path->out)->setups[{source, header.tag}] = {source, destination, header.tag, body};
        commons_.errands |= Commons::links;
        return true;
    }
    LinkEnd* const end = end_of(direction.opposite());
    if (end == nullptr) return false;
    if (end->closed_ || end->agreed_ || end->on_cable() || end->session_ != body.state) return true;
    if (!end->take_setup(body) || !confirm_writes(*end, body.notices)) return false;
    TORUSMP_TRACE(link, info, commons_.rank(), "agrees with rank {} on their detour",
                  end->connection_.peer);
    tell(*end, routing::LinkNews::State::detour);
    pump(*end);
    commons_.stirred = true;
    return true;
}

bool LinkManager::take_confirm(Connection& in, const Channel& channel, const PacketHeader& header,
                               const std::byte* payload) {
    ConfirmBody body;
    if (header.length != sizeof body || in.end == nullptr) return false;
    std::memcpy(&body, payload, sizeof body);
    return &channel != in.end->cable_ || confirm_writes(*in.end, body.notices);
}

// The far end has received this many of our writes.
bool LinkManager::confirm_writes(LinkEnd& end, std::uint32_t notices) {
    std::uint32_t fresh = notices - end.confirmed_;
    std::uint32_t open = 0;
    for (std::size_t i = 0; i < end.writes_.size(); ++i) open += end.counts(end.writes_[i]);
    if (fresh > open) return false;
    end.confirmed_ = notices;
    // Core may send when a write's end is reported; by then all of them have left the queue.
    std::vector<std::uint64_t> complete = std::exchange(complete_, {});
    while (fresh != 0) {
        TORUSMP_ASSERT(!end.writes_.empty(), commons_.rank(), end.connection_.peer, fresh, notices);
        const bool done = end.writes_[0].done;
        const std::uint64_t cookie = end.writes_[0].cookie;
        fresh -= end.counts(end.writes_[0]);
        end.writes_.pop();
        if (end.write_ != 0)
            --end.write_;
        else
            end.written_ = 0;
        if (!done) complete.push_back(cookie);
    }
    for (const std::uint64_t cookie : complete)
        transfers_.on_transfer(end.connection_, cookie, true);
    complete.clear();
    complete_ = std::move(complete);
    return true;
}

}  // namespace torusmp::core

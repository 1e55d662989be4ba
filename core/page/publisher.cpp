// SPDX-License-Identifier: BSD-3-Clause
#include "core/page/publisher.h"

#include <algorithm>

#include "base/assert.h"
#include "core/link/link_end.h"

namespace torusmp::core {
namespace {

template <std::size_t Size>
void copy_text(std::string_view text, std::array<char, Size>& to) {
    to = {};
    std::copy_n(text.begin(), std::min(text.size(), Size - 1), to.begin());
}

void fill(PageState& state, WaitKind kind, const Request& request, Rank peer, std::size_t bytes) {
    state.wait = kind;
    state.peer = peer;
    state.tag = request.tag_;
    state.context = request.context_;
    state.bytes = bytes;
}

void fill_arriving(PageState& state, const ReceiveRequest& request) {
    fill(state, WaitKind::arriving, request, request.status_.source, request.expected_);
}

void fill_send(PageState& state, const SendRequest& request) {
    const bool asked = request.awaits_answer();
    fill(state, asked ? WaitKind::send : WaitKind::sending, request, request.peer_,
         request.buffer_.bytes);
}

// A sent packet that is not relayed, not a part of something larger, and not of the protocol itself
// is a message of its own, so such messages are counted here, where speed does not matter.
void add(const Connection& connection, WayCounts& way) {
    const Statistics& counted = connection.statistics;
    TORUSMP_ASSERT(counted.packets_sent >= counted.relayed + counted.streamed + counted.control,
                   connection.peer, counted.packets_sent, counted.relayed, counted.streamed,
                   counted.control);
    TORUSMP_ASSERT(counted.bytes_sent >=
                       counted.bytes_relayed + counted.bytes_streamed + counted.bytes_control,
                   connection.peer, counted.bytes_sent, counted.bytes_relayed,
                   counted.bytes_streamed, counted.bytes_control);
    way.packets_sent += counted.packets_sent;
    way.bytes_sent += counted.bytes_sent;
    way.packets_received += counted.packets_received;
    way.bytes_received += counted.bytes_received;
    way.bytes_written += counted.bytes_written;
    way.bytes_read += counted.bytes_read;
    way.eager_messages +=
        counted.packets_sent - counted.relayed - counted.streamed - counted.control;
    way.eager_bytes +=
        counted.bytes_sent - counted.bytes_relayed - counted.bytes_streamed - counted.bytes_control;
    way.rendezvous_messages += counted.rendezvous;
    way.streamed_bytes += counted.bytes_streamed;
    way.relayed_packets += counted.relayed;
    way.relayed_bytes += counted.bytes_relayed;
    way.credit_waits += counted.credit_waits;
    way.resent += counted.resent;
    if (connection.link) way.flags |= way_is_link;
    if (connection.down() && connection.shortcut == nullptr) way.flags |= way_is_down;
    if (connection.end != nullptr && connection.cable == nullptr) way.flags |= way_detours;
    copy_text(connection.transport(), way.transport);
}

}  // namespace

void Publisher::publish(const Waiting* waiting) {
    PageState state;
    state.at = page_time(transport::Clock::now());
    state.phase = phase_;
    if (waiting != nullptr) describe(*waiting, state);
    count(state);
    commons_.page.publish(state);
}

void Publisher::describe(const Waiting& waiting, PageState& state) const {
    state.since = page_time(waiting.since);
    copy_text(waiting.call, state.call);
    if (waiting.awaited != nullptr) {
        if (describe_access(*waiting.awaited, state)) return;
        const Request* const request = waiting.awaited->request();
        if (request != nullptr && describe_request(*request, state)) return;
    }
    const std::string deed = commons_.page.deed();
    if (std::string task = progress_.first_task(); !task.empty()) {
        if (!deed.empty()) task += "; " + deed;
        state.wait = WaitKind::collective;
        copy_text(task, state.detail);
        return;
    }
    copy_text(deed, state.detail);
    if (describe_oldest(state)) return;
    state.wait = WaitKind::other;
}

// Returns false if the request is unknown here, because it waits for its turn to be sent or has
// just been completed.
bool Publisher::describe_request(const Request& request, PageState& state) const {
    matching_.for_each_posted([&](const ReceiveRequest& r) {
        if (&r == &request) fill(state, WaitKind::receive, r, r.peer_, r.buffer_.bytes);
    });
    receives_.for_each([&](const ReceiveRequest& r) {
        if (&r == &request && !r.posted()) fill_arriving(state, r);
    });
    sends_.for_each([&](const SendRequest& s) {
        if (&s == &request) fill_send(state, s);
    });
    if (state.wait == WaitKind::none && !request.complete())
        fill(state, WaitKind::credit, request, request.peer_, request.buffer_.bytes);
    return state.wait != WaitKind::none;
}

// For a call that waits for a target of windows: that an access is done, that an epoch begins or
// ends, or that a lock is free.
bool Publisher::describe_access(const Awaited& awaited, PageState& state) const {
    Awaited::List list;
    awaited.list(list);
    Waits waits;
    windows_.report(waits);
    for (const Waits::Operation& open : waits.operations)
        if (list.has(open.id)) list.operations.push_back(open);
    for (const Waits::Operation& it : list.operations) {
        if (it.kind != Waits::Operation::Kind::access) continue;
        state.wait = WaitKind::access;
        state.peer = it.peer;
        state.bytes = it.bytes;
        copy_text(windows_.describe_lock(it.id), state.detail);
        return true;
    }
    return false;
}

// For a call that waits for one of several requests or for a condition: describes the oldest open
// one.
bool Publisher::describe_oldest(PageState& state) const {
    receives_.for_each([&](const ReceiveRequest& r) {
        if (!r.posted() && state.wait == WaitKind::none) fill_arriving(state, r);
    });
    const ReceiveRequest* oldest = nullptr;
    matching_.for_each_posted([&](const ReceiveRequest& r) {
        if (oldest == nullptr || r.ordinal_ < oldest->ordinal_) oldest = &r;
    });
    if (oldest != nullptr && state.wait == WaitKind::none)
        fill(state, WaitKind::receive, *oldest, oldest->peer_, oldest->buffer_.bytes);
    sends_.for_each([&](const SendRequest& s) {
        if (state.wait == WaitKind::none) fill_send(state, s);
    });
    return state.wait != WaitKind::none;
}

void Publisher::count(PageState& state) const {
    state.posted = matching_.posted();
    state.unexpected = matching_.unexpected();
    state.requests = commons_.open_requests();
    state.collectives = progress_.tasks();
    state.windows = windows_.counts();
    for (const auto& connection : connections_.all()) {
        add(*connection, way_of(*connection, state));
        if (!connection->link || connection->channel == nullptr) continue;
        const transport::Channel::Arrivals counted = connection->channel->arrivals();
        state.arrivals[std::size_t(connection->link->index())] = {counted.device, counted.session,
                                                                  counted.packets, counted.lost};
    }
}

// A direct connection to a neighbour belongs to the direction that leads there; if two directions
// do, to the positive one.
WayCounts& Publisher::way_of(const Connection& connection, PageState& state) const {
    const routing::Torus& torus = commons_.torus();
    const auto in_direction = [&](routing::Direction direction) -> WayCounts& {
        WayCounts& way = state.ways[std::size_t(direction.index())];
        way.peer = connection.peer;
        return way;
    };
    if (connection.link) return in_direction(*connection.link);
    for (const int sign : {+1, -1})
        for (int dimension = 0; dimension < torus.link_dimensions(); ++dimension)
            if (const routing::Direction direction{dimension, sign};
                torus.neighbour(commons_.rank(), direction) == connection.peer)
                return in_direction(direction);
    WayCounts& others = state.ways[other_ways];
    others.peer = connection.peer;
    return others;
}

}  // namespace torusmp::core

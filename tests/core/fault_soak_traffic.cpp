// SPDX-License-Identifier: BSD-3-Clause
#include "fault_soak_traffic.h"

#include <algorithm>
#include <cstring>

namespace torusmp::core::testing::fault_soak {

namespace {

constexpr Context wildcard_context = 2;  // for receives from any source
constexpr std::size_t largest_message = 8192;

std::size_t random_length(sim::Random& random, std::size_t eager_limit) {
    const auto kind = random.below(20);
    if (kind == 0) return 0;
    if (kind < 11) return std::size_t(random.below(100));
    if (kind < 14) return std::size_t(random.below(eager_limit));
    if (kind < 16) return eager_limit - 1 + std::size_t(random.below(3));
    return std::min<std::size_t>(largest_message,
                                 eager_limit + std::size_t(random.below(5 * eager_limit)));
}

}  // namespace

std::string name_of(const Message& m) {
    static constexpr const char* ways[] = {"matched", "flow",     "cancelled and posted again",
                                           "probed",  "wildcard", "lonely"};
    return fmt::format("message {} ({}, {} -> {}, context {}, tag {}, {} bytes{})", m.number,
                       ways[int(m.way)], m.from, m.to, m.context, m.tag, m.bytes,
                       m.synchronous ? ", synchronous" : "");
}

void Traffic::plan(const Damage& damage) {
    damage_ = &damage;
    const auto ranks = std::uint64_t(scene_.job->size());
    const auto count = std::size_t(40 + scene_.random.below(30 * ranks));
    const bool wildcards = scene_.random.below(3) == 0;
    for (std::size_t n = 0; n < count; ++n) {
        messages_.push_back(std::make_unique<Message>());
        Message& m = *messages_.back();
        m.number = n;
        m.from = Rank(scene_.random.below(ranks));
        m.to = Rank(scene_.random.below(ranks));
        m.bytes = random_length(scene_.random, scene_.eager_limit);
        const auto kind = scene_.random.below(20);
        m.way = kind < 9                   ? Way::matched
                : kind < 14                ? Way::flow
                : kind < 16                ? Way::tried
                : kind < 18                ? Way::probed
                : kind == 18 || !wildcards ? Way::lonely
                                           : Way::wildcard;
        const bool own_tag = m.way != Way::matched && m.way != Way::flow;
        m.context = m.way == Way::wildcard ? wildcard_context : Context(scene_.random.below(2));
        m.tag = own_tag ? Tag(1000 + n) : Tag(scene_.random.below(3));
        m.synchronous = m.way != Way::flow && scene_.random.below(12) == 0;
    }
    if (!wildcards) return;
    for (Rank rank = 0; rank < scene_.job->size(); ++rank) {
        servers_.push_back(std::make_unique<Server>());
        servers_.back()->at = rank;
        servers_.back()->room.reset(new std::byte[largest_message]);
        open(*servers_.back());
    }
}

void Traffic::issue_send(Message& m) {
    if (m.way == Way::lonely || !scene_.job->alive(m.from)) return;
    m.sent = true;
    m.out.reset(new std::byte[m.bytes]);
    fill(m.out.get(), m.bytes, scene_.seed + m.number);
    const Buffer buffer(static_cast<const void*>(m.out.get()), m.bytes);
    Runtime& runtime = (*scene_.job)[m.from];
    if (m.way == Way::flow)
        runtime.flows().start(runtime.flows().open_send(m.to, m.context, std::uint32_t(m.tag)),
                              m.send, buffer);
    else
        runtime.send(m.send, buffer, m.to, m.context, m.tag,
                     m.synchronous ? SendMode::synchronous : SendMode::standard);
}

void Traffic::issue_receive(Message& m) {
    if (m.way == Way::wildcard || m.way == Way::probed || !scene_.job->alive(m.to)) return;
    post(m);
}

void Traffic::post(Message& m) {
    m.posted = true;
    if (!m.in) m.in.reset(new std::byte[m.bytes]);
    const Buffer buffer(m.in.get(), m.bytes);
    Runtime& runtime = (*scene_.job)[m.to];
    if (m.way == Way::flow)
        runtime.flows().start(runtime.flows().open_receive(m.from, m.context, std::uint32_t(m.tag)),
                              m.receive, buffer);
    else
        runtime.receive(m.receive, buffer, m.from, m.context, m.tag);
}

void Traffic::open(Server& server) {
    if (!scene_.job->alive(server.at)) return;
    (*scene_.job)[server.at].receive(server.receive, Buffer(server.room.get(), largest_message),
                                     any_source, wildcard_context, any_tag);
    server.open = true;
}

bool Traffic::tend(Message& m) {
    bool done = false;
    // Memory of what has ended is the caller's: whatever still reads or writes it is found out.
    if (m.sent && !m.out_reused && m.send.complete()) {
        std::memset(m.out.get(), 0xdd, m.bytes);
        m.out_reused = true;
    }
    if (!scene_.job->alive(m.to)) return false;
    if (m.way == Way::probed && !m.posted) {
        const auto found = (*scene_.job)[m.to].probe(m.from, m.context, m.tag);
        if (!found && !closing_) return false;
        if (found && (found->source != m.from || found->tag != m.tag || found->bytes != m.bytes) &&
            !damage_->hostile(m.from, m.to))
            scene_.bad(fmt::format("{}: a probe found {} bytes from {} with tag {}", name_of(m),
                                   found->bytes, found->source, found->tag));
        post(m);
        return true;
    }
    if (m.way == Way::tried && m.posted && !m.cancel_asked) {
        m.cancel_asked = true;
        (*scene_.job)[m.to].cancel(m.receive);
        done = true;
    }
    if (m.way == Way::tried && m.posted && m.receive.complete() &&
        m.receive.status().error == Error::cancelled) {
        ++scene_.result.cancelled;
        post(m);
        return true;
    }
    if (m.way == Way::lonely && m.posted && closing_ && !m.cancel_asked) {
        m.cancel_asked = true;
        (*scene_.job)[m.to].cancel(m.receive);
        done = true;
    }
    if (m.posted && !m.in_reused && m.receive.complete() &&
        m.receive.status().error != Error::none) {
        std::memset(m.in.get(), 0xee, m.bytes);
        m.in_reused = true;
    }
    return done;
}

bool Traffic::tend(Server& server) {
    if (!scene_.job->alive(server.at) || !server.open) return false;
    if (!server.receive.complete()) {
        if (closing_) (*scene_.job)[server.at].cancel(server.receive);
        return server.receive.complete();
    }
    server.open = false;
    const Status& status = server.receive.status();
    if (status.error == Error::cancelled) {
        ++scene_.result.cancelled;
        return false;
    }
    bool right = false;
    const auto number = std::size_t(status.tag - 1000);
    if (status.error == Error::none && status.tag >= 1000 && number < messages_.size()) {
        Message& m = *messages_[number];
        right = m.way == Way::wildcard && m.from == status.source && m.to == server.at &&
                m.bytes == status.bytes && !m.delivered &&
                filled(server.room.get(), m.bytes, scene_.seed + number);
        m.delivered = m.delivered || right;
    }
    deliveries_.push_back({server.at, status, right});
    ++scene_.result.requests;
    // A rank that got this address before it was captured may still write there.
    if (status.error != Error::none) {
        abandoned_.push_back(std::move(server.room));
        server.room.reset(new std::byte[largest_message]);
    }
    open(server);
    return true;
}

void Traffic::step() {
    const auto half = [&] { return scene_.random.below(2) == 0; };
    if (sends_ < messages_.size() && half()) issue_send(*messages_[sends_++]);
    if (receives_ < messages_.size() && half()) issue_receive(*messages_[receives_++]);
    tend(*messages_[std::size_t(scene_.random.below(messages_.size()))]);
    if (!servers_.empty()) tend(*servers_[std::size_t(scene_.random.below(servers_.size()))]);
    scene_.turn();
}

void Traffic::settle() {
    for (bool more = true; more;) {
        while (scene_.turn()) {
        }
        more = false;
        for (auto& message : messages_) more = tend(*message) || more;
        for (auto& server : servers_) more = tend(*server) || more;
    }
}

void Traffic::exchange(Rank from, Rank to, Context context, std::size_t bytes) {
    messages_.push_back(std::make_unique<Message>());
    Message& m = *messages_.back();
    m.number = messages_.size() - 1;
    m.from = from;
    m.to = to;
    m.context = context;
    m.bytes = bytes;
    issue_send(m);
    issue_receive(m);
}

}  // namespace torusmp::core::testing::fault_soak

// What the Runtime says of itself: every pending wait, the connections, the counters.
#include <fmt/format.h>

#include "core/runtime.h"

namespace torusmp::core {
namespace {

std::string_view transport_of(const Connection& connection) {
    return connection.interface != nullptr ? connection.interface->name() : "self";
}

}  // namespace

std::string_view describe(Error error) {
    switch (error) {
        case Error::none:
            return "no error";
        case Error::truncated:
            return "the message is longer than the receive";
        case Error::cancelled:
            return "cancelled";
        case Error::unreachable:
            return "the peer cannot be reached";
        case Error::protocol:
            return "the peer broke the protocol";
        case Error::mismatch:
            return "the members called different collectives";
    }
    return "unknown error";
}

void Runtime::log(std::string_view text) const {
    if (options_.log) options_.log(text);
}

std::string Runtime::name_of(Rank rank) const {
    return options_.name_of ? options_.name_of(rank) : fmt::format("rank {}", rank);
}

std::string Runtime::name_of(const Connection& connection) const {
    if (!connection.link && connection.channel == &nowhere_)
        return fmt::format("the connection to {}", name_of(connection.peer));
    if (!connection.link)
        return fmt::format("the {} connection to {}", transport_of(connection),
                           name_of(connection.peer));
    return fmt::format("link {}{} to {}", connection.link->dimension,
                       connection.link->sign > 0 ? '+' : '-', name_of(connection.peer));
}

namespace {

// Lines as they stand in a report.
std::string indented(std::string_view lines) {
    while (!lines.empty() && lines.back() == '\n') lines.remove_suffix(1);
    std::string text = "  ";
    for (const char c : lines) {
        text += c;
        if (c == '\n') text += "  ";
    }
    return text;
}

}  // namespace

std::string Runtime::report() const {
    Guard guard(*this);
    std::string text = fmt::format("rank {} of {}: what it waits for\n", options_.rank, size());
    const auto out = std::back_inserter(text);
    const std::size_t empty = text.size();
    const auto source = [this](Rank rank) {
        return rank == any_source ? std::string("any rank") : name_of(rank);
    };
    matching_.for_each_posted([&](const ReceiveRequest& r) {
        fmt::format_to(out,
                       "  receive of up to {} B from {} (context {}, tag {}): no message yet\n",
                       r.buffer_.bytes, source(r.peer_), r.context_,
                       r.tag_ == any_tag ? std::string("any") : std::to_string(r.tag_));
    });
    for (const Peer& peer : peers_) {
        for (const auto& flow : peer.receive_flows)
            for (const ReceiveRequest* r = flow->first; r != nullptr; r = r->next_)
                fmt::format_to(out, "  channel receive of up to {} B from {}: no message yet\n",
                               r->buffer_.bytes, name_of(peer.rank));
        if (!peer.stash.empty())
            fmt::format_to(out,
                           "  {} packets of {} that came before their turn: number {} is missing\n",
                           peer.stash.size(), name_of(peer.rank), peer.receive_sequence);
    }
    landings_.for_each([&](const ReceiveRequest& r) {
        if (!r.posted_)
            fmt::format_to(out, "  receive from {}: {} of {} B have come\n",
                           source(r.status_.source), r.landed_, r.expected_);
    });
    departures_.for_each([&](const SendRequest& r) {
        const bool asked = r.stage_ == SendRequest::Stage::wait_answer;
        fmt::format_to(out, "  send of {} B to {}: {}\n", r.buffer_.bytes, name_of(r.peer_),
                       asked ? "its receive has not started" : "is being written");
    });
    for (const auto& c : connections_)
        if (!c->messages.empty() || !c->streams.empty() || c->held != 0)
            fmt::format_to(out, "  {}: packets wait for a token; holds {} of {} of class 0{}{}\n",
                           name_of(*c), transport::tokens_in(c->tokens, 0),
                           transport::tokens_in(c->all_tokens, 0),
                           c->held != 0 ? "; a packet to be relayed is held" : "",
                           c->down ? "; the link is down" : "");
    for (const Task* task : tasks_) fmt::format_to(out, "  {}\n", task->describe());
    if (text.size() == empty) text += "  nothing\n";
    text.pop_back();
    for (const transport::Interface* it : interfaces_)
        if (const std::string counted = it->statistics(); !counted.empty())
            text += fmt::format("\n{}", indented(counted));
    return text;
}

std::vector<Runtime::ConnectionInfo> Runtime::connections() const {
    Guard guard(*this);
    std::vector<ConnectionInfo> all;
    for (const auto& c : connections_)
        all.push_back({c->peer, c->link, c->statistics, c->down, transport_of(*c)});
    return all;
}

bool Runtime::quiet() const {
    Guard guard(*this);
    for (const auto& c : connections_)
        if (!c->messages.empty() || !c->streams.empty() || c->held != 0) return false;
    for (const transport::Interface* it : interfaces_)
        if (!it->idle()) return false;
    return open_requests_ == 0 && loopback_->empty();
}

bool Runtime::tokens_home() const {
    Guard guard(*this);
    for (const auto& c : connections_) {
        if (!c->down) c->tokens += c->channel->collect_grants();
        if (c->tokens == c->all_tokens || c->down) continue;
        // What the peer owes below its threshold is as good as home.
        for (int k = 0; k < c->classes; ++k)
            if (transport::tokens_in(c->all_tokens, k) - transport::tokens_in(c->tokens, k) >=
                c->grant_at[k])
                return false;
    }
    return true;
}

}  // namespace torusmp::core

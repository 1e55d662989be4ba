// SPDX-License-Identifier: BSD-3-Clause
#include "fault_soak_judge.h"

#include <algorithm>
#include <string_view>

namespace torusmp::core::testing::fault_soak {

namespace {

bool mentions(std::string_view line, const std::string& name) {
    for (auto at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
        const auto end = at + name.size();
        if (end == line.size() || line[end] < '0' || line[end] > '9') return true;
    }
    return false;
}

}  // namespace

bool Judge::said(Rank on, const std::string& about) const {
    const std::string prefix = fmt::format("{}: ", on);
    return std::any_of(scene_.job->log().begin(), scene_.job->log().end(),
                       [&](const std::string& line) {
                           return line.rfind(prefix, 0) == 0 && mentions(line, about);
                       });
}

void Judge::error(const Message& m, const Request& request, Rank on, bool sending) {
    const Error error = request.status().error;
    const char* end = sending ? "send" : "receive";
    const Rank peer = sending ? m.to : m.from;
    if (error == Error::unreachable) ++scene_.result.unreachable;
    if (error == Error::protocol) ++scene_.result.protocol;
    if (error == Error::none) return;
    const bool hostile = damage_.hostile(m.from, m.to);
    if (error == Error::cancelled && m.way == Way::lonely) {
        ++scene_.result.cancelled;
        return;
    }
    if (error != Error::unreachable &&
        !(hostile && (error == Error::protocol || error == Error::truncated)))
        return scene_.bad(
            fmt::format("{}: the {} ended with '{}'", name_of(m), end, describe(error)));
    if (!damage_.cut(m.from, m.to))
        return scene_.bad(
            fmt::format("{}: the {} ended with '{}' although the two can reach each other",
                        name_of(m), end, describe(error)));
    if (request.peer() != peer)
        return scene_.bad(
            fmt::format("{}: the error of the {} names rank {}", name_of(m), end, request.peer()));
    if (error == Error::truncated) return;
    const std::string why = (*scene_.job)[on].state().fault_of(peer);
    if (why == describe(Error::unreachable) || !damage_.explains(why))
        scene_.bad(fmt::format("{}: the {} ended with '{}', but {} gives no reason of {}: {}",
                               name_of(m), end, describe(error), name(on), name(peer), why));
}

void Judge::receive(const Message& m) {
    const Status& status = m.receive.status();
    error(m, m.receive, m.to, false);
    const bool hostile = damage_.hostile(m.from, m.to);
    if (hostile) return;  // whatever came in its name
    if (status.error == Error::none) {
        if (m.way == Way::lonely)
            scene_.bad(fmt::format("{}: a message arrived", name_of(m)));
        else if (status.bytes != m.bytes || status.source != m.from ||
                 (m.way != Way::flow && status.tag != m.tag))
            scene_.bad(fmt::format("{}: {} bytes came from rank {} with tag {}", name_of(m),
                                   status.bytes, status.source, status.tag));
        else if (!filled(m.in.get(), m.bytes, scene_.seed + m.number))
            scene_.bad(fmt::format("{}: wrong bytes came", name_of(m)));
    } else if (m.in_reused && !std::all_of(m.in.get(), m.in.get() + m.bytes, [](std::byte byte) {
                   return byte == std::byte{0xee};
               })) {
        scene_.bad(fmt::format("{}: its memory was written to after it had ended", name_of(m)));
    }
}

void Judge::wildcards() {
    for (const Delivery& delivery : traffic_.deliveries()) {
        const Status& status = delivery.status;
        const Rank source = status.source;
        if (source < 0 || source >= scene_.job->size()) {
            scene_.bad(
                fmt::format("a receive from any source at {} ended with '{}' and names rank {}",
                            name(delivery.at), describe(status.error), source));
            continue;
        }
        if (status.error == Error::unreachable) ++scene_.result.unreachable;
        if (status.error == Error::protocol) ++scene_.result.protocol;
        const bool hostile = damage_.hostile(source, delivery.at);
        if (!hostile && status.error == Error::none && !delivery.right_bytes)
            scene_.bad(fmt::format(
                "a receive from any source at {} got {} bytes from {} with tag {}, which "
                "was never sent",
                name(delivery.at), status.bytes, name(source), status.tag));
        if (status.error != Error::none && !damage_.cut(source, delivery.at))
            scene_.bad(
                fmt::format("a receive from any source at {} ended with '{}' for {}, which it can "
                            "reach",
                            name(delivery.at), describe(status.error), name(source)));
    }
    for (const auto& server : traffic_.servers())
        if (scene_.job->alive(server->at) && server->open)
            scene_.bad(fmt::format("a cancelled receive from any source at {} never ended",
                                   name(server->at)));
    for (const auto& m : traffic_.messages())
        if (m->way == Way::wildcard && m->sent && !m->delivered && !damage_.cut(m->from, m->to))
            scene_.bad(fmt::format("{}: it never arrived", name_of(*m)));
}

void Judge::log() {
    for (const std::string& line : scene_.job->log())
        if (!damage_.explains(line)) scene_.bad("the log blames a link that lives: " + line);
    // Each surviving neighbour names the rank that dies.
    for (Rank victim = 0; victim < scene_.job->size(); ++victim) {
        if (!damage_.dead(victim)) continue;
        for (int i = 0; i < 2 * scene_.job->torus().dimensions(); ++i) {
            const auto other =
                scene_.job->torus().neighbour(victim, routing::Direction::from_index(i));
            if (other && scene_.job->alive(*other) && !said(*other, name(victim)))
                scene_.bad(fmt::format("{} never reported its dead neighbour {}", name(*other),
                                       name(victim)));
        }
    }
    const auto names_other_end = [&](Rank at, Rank other) {
        if (scene_.job->alive(at) && !said(at, name(other)))
            scene_.bad(
                fmt::format("{} never named {}, to which its link was cut", name(at), name(other)));
    };
    for (const Damage::DeadLink& link : damage_.dead_links())
        names_other_end(link.at, *scene_.job->torus().neighbour(link.at, link.direction));
}

void Judge::what_is_left() {
    if (!scene_.job->quiet()) scene_.bad("something still waits");
    if (!scene_.job->credits_home()) scene_.bad("credits are missing");
    if (scene_.job->world().in_flight() != 0) scene_.bad("packets are left on live links");
}

void Judge::all() {
    for (const auto& message : traffic_.messages()) {
        const Message& m = *message;
        if (m.sent && scene_.job->alive(m.from)) {
            ++scene_.result.requests;
            if (!m.send.complete())
                scene_.bad(fmt::format("{}: the send never ended", name_of(m)));
            else
                error(m, m.send, m.from, true);
        }
        if (m.posted && scene_.job->alive(m.to)) {
            ++scene_.result.requests;
            if (!m.receive.complete())
                scene_.bad(fmt::format("{}: the receive never ended", name_of(m)));
            else
                receive(m);
        }
    }
    wildcards();
    log();
    what_is_left();
}

void Judge::exchange_afterwards() {
    constexpr Context context = 9;
    const std::size_t first = traffic_.messages().size();
    for (Rank from = 0; from < scene_.job->size(); ++from)
        for (Rank to = 0; to < scene_.job->size(); ++to)
            traffic_.exchange(from, to, context,
                              scene_.random.below(2) == 0 ? 20 : 3 * scene_.eager_limit);
    traffic_.settle();
    for (std::size_t n = first; n < traffic_.messages().size(); ++n) {
        const Message& m = *traffic_.messages()[n];
        const Error expected = damage_.cut(m.from, m.to) ? Error::unreachable : Error::none;
        const auto look = [&](const Request& request, const char* end) {
            ++scene_.result.requests;
            if (!request.complete())
                scene_.bad(fmt::format("afterwards, {}: the {} never ended", name_of(m), end));
            else if (request.status().error != expected)
                scene_.bad(fmt::format("afterwards, {}: the {} ended with '{}', expected '{}'",
                                       name_of(m), end, describe(request.status().error),
                                       describe(expected)));
        };
        if (m.sent) look(m.send, "send");
        if (m.posted) look(m.receive, "receive");
        if (m.posted && expected == Error::none && m.receive.complete() &&
            !filled(m.in.get(), m.bytes, scene_.seed + m.number))
            scene_.bad(fmt::format("afterwards, {}: wrong bytes came", name_of(m)));
    }
}

}  // namespace torusmp::core::testing::fault_soak

// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/link_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/trace.h"

namespace torusmp::core {

using routing::Direction;
using routing::Link;
using transport::Channel;
using transport::PacketHeader;
using transport::Verdict;

LinkManager::LinkManager(Commons& commons, Connections& connections, PacketSender& sender,
                         FaultHandler& faults, transport::Sink& sink, TransferListener& transfers)
    : commons_(commons),
      connections_(connections),
      faults_(faults),
      sink_(sink),
      transfers_(transfers),
      detour_vc_(commons.torus().virtual_channels()),
      control_vc_(detour_vc_ + 1),
      vc_count_(commons.options.detour ? control_vc_ + 1 : 0),
      states_(commons.torus()),
      control_(commons, sender, states_, control_vc_),
      detours_(commons, sender, faults, sink, transfers, states_, carriers_, detour_vc_) {}

// Links within a host end with their ranks, so their channels are used directly.
void LinkManager::adopt() {
    if (vc_count_ == 0) return;
    for (Connection* const connection : connections_.links()) {
        if (connection == nullptr) continue;
        LinkCarrier& it = carriers_[*connection->link];
        TORUSMP_ASSERT(it.connection == nullptr, commons_.rank(), connection->peer);
        it.connection = connection;
        if (!connections_.outlives_cable(*connection)) continue;
        it.end =
            std::make_unique<LinkEnd>(*this, *connection, link_of(it), commons_.options.body());
        connection->end = it.end.get();
        connection->channel = it.end.get();
    }
    for (const Link& link : commons_.options.dead_links) states_.update(link, LinkStates::died(0));
    act_on_changes();
}

// ---- states of links ----

void LinkManager::update(const Link& link, std::uint32_t version, const Connection* heard_from) {
    [[maybe_unused]] const std::uint32_t known = states_.version(link);
    if (!states_.update(link, version)) return;
    TORUSMP_TRACE(link, info, commons_.rank(),
                  "the link of rank {} in dimension {} is {}: version {} after {}, from {}",
                  link.rank, link.dimension,
                  LinkStates::is_given_up(version)   ? "given up"
                  : LinkStates::is_hopeless(version) ? "dead without a cable"
                  : LinkStates::is_dead(version)     ? "dead"
                                                     : "back",
                  version, known, heard_from != nullptr ? heard_from->peer : commons_.rank());
    commons_.errands |= Commons::links;
    for (LinkCarrier& it : carriers_)
        if (it.connection != nullptr && it.connection != heard_from && it.cable() != nullptr)
            it.news.insert(link);
}

// Acts on the present states. News is queued before any setup, and leaves before it on every link,
// so the receiver of a setup knows at least what its sender knew.
void LinkManager::act_on_changes() {
    if (std::exchange(changes_seen_, states_.changes()) == states_.changes()) return;
    for (bool again = true; std::exchange(again, false);) {
        for_each_end([&](LinkEnd& end, LinkCarrier& it) { again |= follow_version(end, it); });
        for_each_end([&](LinkEnd& end, LinkCarrier&) { again |= look_anew_if_apart(end); });
        again |= give_up_links();
    }
    TORUSMP_ASSERT(commons_.lock.held(), commons_.rank());
    if (!states_.rest().connected()) give_up_parts();
    if (acted_on_ == states_.digest()) return;
    acted_on_ = states_.digest();
    for_each_end([&](LinkEnd& end, LinkCarrier&) {
        if (states_.dead(end.link())) begin_session(end);
    });
}

// Handles the death or return of a link that ends here. Returns true if that has made news.
bool LinkManager::follow_version(LinkEnd& end, LinkCarrier& it) {
    const std::uint32_t version = LinkStates::life(states_.version(end.link()));
    if (version == end.cable_version()) return false;
    commons_.errands |= Commons::links;
    if (LinkStates::is_dead(version)) {
        report_state(it, routing::LinkNews::State::dead);
        end.lose_cable(version, "its other end reports it dead");
        it.drop_queues();
        if (connections_.peer(end.connection().peer).dead)
            faults_.close(end.connection(), Error::unreachable, "its other end is dead");
        else if (end.candidate() == nullptr)
            look_again(end, true);
        return false;
    }
    if (end.candidate() == nullptr || !end.heard() || end.candidate()->connecting()) {
        update(end.link(), LinkStates::died(version),
               nullptr);  // the cable died before it was used
        return true;
    }
    const SetupBody body = end.take_cable_back(version);
    for (const auto& known : states_.versions()) it.news.insert(known.first);
    it.queue(setup_of(end, body));
    return false;
}

// Requests the cable from the transport again, which reports when it is back, or that it does not
// return. A cable that has worked and dies again is held down, unless nothing else joins its ends.
void LinkManager::look_again(LinkEnd& end, bool had_met, bool afresh) {
    const bool pauses = had_met && !states_.detours().parts().apart(end.link());
    const auto pause = pauses ? end.hold_down() : std::chrono::nanoseconds{0};
    end.try_cable(connections_.connect_again(end.connection(), pause, afresh));
    if (end.candidate() == nullptr)
        update(end.link(), LinkStates::without_hope(states_.version(end.link())), nullptr);
}

// When dead links have just parted the ends of this one, what was known of its cable is too old: it
// may have returned since this end looked, or has to wait. So the end looks once more, immediately,
// and there is hope until it has. Returns true if that has made news.
bool LinkManager::look_anew_if_apart(LinkEnd& end) {
    const std::uint32_t version = states_.version(end.link());
    const bool apart = LinkStates::is_dead(version) && states_.detours().parts().apart(end.link());
    if (end.note_apart(apart) || !apart || LinkStates::is_given_up(version)) return false;
    if (end.candidate() != nullptr && end.candidate()->connecting()) {
        end.give_candidate_up("the other end needs it now");
        look_again(end, false, true);
    }
    if (end.candidate() == nullptr || LinkStates::with_hope(version) == version) return false;
    update(end.link(), LinkStates::with_hope(version), nullptr);
    return true;
}

// Starts a session under a new state, on which the ends must agree again: ranks that know of the
// new state drop frames of the old one.
void LinkManager::begin_session(LinkEnd& end) {
    end.leave_path();
    const auto path = states_.crossing(commons_.rank(), commons_.rank(), *end.connection().link);
    if (!path || !path->out) return;  // it waits for a cable or is given up
    TORUSMP_TRACE(link, info, commons_.rank(), "asks rank {} for a detour that starts by link {}{}",
                  end.connection().peer, path->out->dimension, path->out->sign > 0 ? '+' : '-');
    carriers_[*path->out].queue(setup_of(end, end.ask(states_.digest())));
}

LinkSetup LinkManager::setup_of(const LinkEnd& end, const SetupBody& body) const {
    return {commons_.rank(), end.connection().peer, end.connection().link->index(), body};
}

// A link within a host that is closed has lost its other end for ever, and detours must avoid it.
bool LinkManager::report_dead_neighbours() {
    bool news = false;
    for (const LinkCarrier& it : carriers_) {
        if (it.connection == nullptr || it.end != nullptr || !it.connection->down()) continue;
        const Link link = link_of(it);
        if (states_.dead(link)) continue;
        update(link, LinkStates::without_hope(LinkStates::died(states_.version(link))), nullptr);
        news = true;
    }
    return news;
}

Link LinkManager::link_of(const LinkCarrier& it) const {
    return routing::link_by(commons_.torus(), commons_.rank(), *it.connection->link);
}

// Gives up our links without hope if, as far as this rank knows, they separate it from other ranks.
// News that there is hope for another such link may be delayed at a rank that is computing. So each
// link is given up by its own end, which knows its state, and no rank is lost before all ends on
// this side have done so. Returns true if this rank has.
bool LinkManager::give_up_links() {
    const routing::Parts parts = states_.hopes();  // update() below changes it
    bool news = false;
    for (LinkCarrier& it : carriers_) {
        if (it.connection == nullptr || (it.end == nullptr && !it.connection->down())) continue;
        const Link link = link_of(it);
        const std::uint32_t version = states_.version(link);
        if (!parts.apart(link) || LinkStates::given_up(version) == version) continue;
        update(link, LinkStates::given_up(version), nullptr);
        news = true;
    }
    return news;
}

// Gives up the ranks to which no path remains.
void LinkManager::give_up_parts() {
    const routing::Parts parts = states_.rest();  // closing below may bring further news
    const int ours = parts.of(commons_.rank());
    const std::string what = describe_cut();
    for_each_end([&](LinkEnd& end, LinkCarrier&) {
        if (parts.of(end.connection().peer) != ours)
            faults_.close(end.connection(), Error::unreachable, what);
    });
    for (Peer& peer : connections_.peers())
        if (parts.of(peer.rank) != ours) faults_.lose(peer, Error::unreachable, what);
}

std::string LinkManager::describe_cut() const {
    std::string text = "no detour is left around the dead links between ";
    bool first = true;
    for (const Link& link : states_.rest().cut()) {
        text += fmt::format("{}{} and {}", first ? "" : ", between ", commons_.name_of(link.rank),
                            commons_.name_of(routing::far_end(commons_.torus(), link)));
        first = false;
    }
    return text;
}

void LinkManager::report_state(LinkCarrier& it, routing::LinkNews::State state) {
    routing::LinkNews news{.direction = *it.connection->link,
                           .peer = it.connection->peer,
                           .state = state,
                           .path = {},
                           .why = std::exchange(it.why, {})};
    if (state == routing::LinkNews::State::detour)
        news.path = states_.detours().around(commons_.rank(), news.direction).value();
    if (std::exchange(it.reported, news.path) == news.path && !news.path.empty()) return;
    if (commons_.options.log_link)
        commons_.options.log_link(news);
    else if (!news.why.empty())
        commons_.log(
            fmt::format("{} has lost its cable: {}", commons_.name_of(*it.connection), news.why));
}

void LinkManager::on_down(LinkEnd& end, const Channel& channel, std::string_view why) {
    if (end.closed()) {
        if (&channel != end.candidate()) return;
        end.lose_candidate();
        end.count_loss();
        return wake();
    }
    const std::uint32_t version = states_.version(end.link());
    if (&channel == end.cable()) {
        carriers_.of(end).why = why;
        update(end.link(), LinkStates::died(version), nullptr);
        act_on_changes();
    } else if (&channel == end.candidate()) {
        end.lose_candidate();
        // A cable that was up and died may flap again.
        if (channel.has_met())
            end.count_loss();
        else
            update(end.link(), LinkStates::without_hope(version), nullptr);
        look_again(end, channel.has_met());
        act_on_changes();
    }
}

void LinkManager::blame(LinkEnd& end, std::string_view what) {
    faults_.close(end.connection(), Error::protocol, what);
}

void LinkManager::on_notice(LinkEnd& end, std::uint64_t notice) {
    end.count_write();
    transfers_.on_notice(end.connection(), notice);
}

void LinkManager::on_transfer(LinkEnd& end, const Channel& channel, std::uint64_t number, bool ok) {
    if (ok && !end.can().notifies && end.on_cable() && &channel == end.cable())
        end.finish_write(number);
}

// ---- control packets ----

// A cable that has connected is a hope; each end sends a hello over it.
void LinkManager::greet(LinkEnd& end) {
    if (end.candidate() == nullptr || end.candidate()->connecting()) return;
    update(end.link(), LinkStates::with_hope(states_.version(end.link())), nullptr);
    control_.greet(end);
}

// In a job that continues after deaths, one end may close a link for good while the other one still
// hopes for its cable, and would wait for ever. So a closed end waits for a cable, too, and says
// farewell over it, until it has heard the other end's farewell or death. Returns true if it waits
// for a cable.
bool LinkManager::take_leave(LinkEnd& end) {
    if (connections_.peer(end.connection().peer).reported) {
        end.give_candidate_up("its other end is dead");
        return false;
    }
    if (end.candidate() == nullptr) {
        if (end.heard()) return false;
        end.try_cable(connections_.connect_again(end.connection(), end.hold_down(), false));
        if (end.candidate() == nullptr) {
            end.hear();  // there is no way to the other end
            return false;
        }
    }
    if (end.candidate()->connecting()) return true;
    control_.take_leave(end);
    return false;
}

void LinkManager::on_late_packet(LinkEnd& end, const Channel& channel, const PacketHeader& header,
                                 const std::byte* payload) {
    HelloBody body;
    if (&channel != end.candidate() || header.virtual_channel != control_vc_ ||
        LinkFrame(header.kind) != LinkFrame::hello || header.length != sizeof body ||
        !is_from_far_end(end.connection(), header))
        return;
    std::memcpy(&body, payload, sizeof body);
    if (body.heard == HelloBody::farewell) end.hear();
}

// The far end has closed the link for good.
void LinkManager::follow_farewell(LinkEnd& end) {
    const std::uint32_t dead = LinkStates::died(states_.version(end.link()));
    update(end.link(), LinkStates::given_up(LinkStates::without_hope(dead)), nullptr);
    act_on_changes();
    faults_.close(end.connection(), Error::unreachable, "its other end has closed it for good");
}

bool LinkManager::is_from_far_end(const Connection& in, const PacketHeader& header) const {
    return header.source == std::uint32_t(in.peer) &&
           header.destination == std::uint32_t(commons_.rank()) &&
           header.tag == in.link->opposite().index();
}

Verdict LinkManager::on_packet(Connection& in, const Channel& channel, const PacketHeader& header,
                               const std::byte* payload) {
    const bool control = header.virtual_channel == control_vc_;
    const auto kind = LinkFrame(header.kind);
    if (!control && kind == LinkFrame::detour) {
        act_on_changes();
        return detours_.take(in, header, payload);
    }
    const bool from_there = is_from_far_end(in, header);
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
    if (&channel != end.candidate()) return;
    const int ports = 2 * commons_.torus().link_dimensions();
    const std::string port =
        header.tag < 0 || header.tag >= ports
            ? fmt::format("port {}", header.tag)
            : fmt::format("link {}{}", header.tag / 2, header.tag % 2 == 0 ? '+' : '-');
    faults_.tell_fault(
        fmt::format("{} has no cable: the cable plugged in there leads to {} of {}; "
                    "expected {}. Plug it in where the geometry file says.",
                    commons_.name_of(end.connection()), port, commons_.name_of(Rank(header.source)),
                    commons_.name_of(end.connection().peer)));
    end.give_candidate_up("it is not the cable of this link");
    end.count_loss();
    look_again(end, true);
}

bool LinkManager::take_news(Connection& in, const PacketHeader& header, const std::byte* payload) {
    NewsBody body;
    if (header.length == 0 || header.length % sizeof body != 0) return false;
    const routing::Torus& torus = commons_.torus();
    for (std::size_t at = 0; at < header.length; at += sizeof body) {
        std::memcpy(&body, payload + at, sizeof body);
        if (body.rank >= std::uint32_t(torus.size()) ||
            body.dimension >= std::uint32_t(torus.link_dimensions()))
            return false;
        const Link link{Rank(body.rank), int(body.dimension)};
        if (!torus.neighbour(link.rank, link.direction())) return false;
        update(link, body.version, &in);
    }
    return true;  // consequences follow once for everything received: see act_on_changes()
}

bool LinkManager::take_hello(Connection& in, const Channel& channel, const PacketHeader& header,
                             const std::byte* payload) {
    HelloBody body;
    if (header.length != sizeof body || in.end == nullptr) return false;
    std::memcpy(&body, payload, sizeof body);
    LinkEnd& end = *in.end;
    if (body.heard == HelloBody::farewell) {
        if (&channel == end.candidate()) follow_farewell(end);
        return true;
    }
    // This cable may be the only path to ranks that know of a later death.
    if (&channel == end.candidate() && LinkStates::is_dead(body.version) &&
        body.version > LinkStates::life(states_.version(end.link()))) {
        update(end.link(), body.version, nullptr);
        act_on_changes();
    }
    const std::uint32_t version = LinkStates::life(states_.version(end.link()));
    // A peer that refers to an earlier version is sent ours.
    if (&channel != end.candidate() || body.version != version || !LinkStates::is_dead(version))
        return true;
    end.hear();
    if (end.first() && body.heard != 0) {
        update(end.link(), LinkStates::back(version), nullptr);
        act_on_changes();
    }
    return true;
}

bool LinkManager::take_setup(Connection& in, const Channel& channel, const PacketHeader& header,
                             const std::byte* payload) {
    SetupBody body;
    if (header.length != sizeof body || header.tag < 0 ||
        header.tag >= 2 * commons_.torus().link_dimensions())
        return false;
    std::memcpy(&body, payload, sizeof body);
    const LinkSetup setup{Rank(header.source), Rank(header.destination), header.tag, body};
    const auto direction = Direction::from_index(header.tag);
    if (commons_.torus().neighbour(setup.source, direction) != setup.destination) return false;
    act_on_changes();
    if (body.by_cable != 0)
        return setup.destination == commons_.rank() && setup.source == in.peer &&
               direction.opposite() == *in.link && in.end != nullptr &&
               agree_on_cable(*in.end, channel, body);
    // A sender under another state knows less than this rank, or its news is on the way.
    if (body.state != states_.digest()) return true;
    const auto path = states_.crossing(commons_.rank(), setup.source, direction);
    if (!path || !path->in || *path->in != *in.link) return false;
    if (path->out) {
        carriers_[*path->out].queue(setup);
        commons_.errands |= Commons::links;
        return true;
    }
    LinkEnd* const end = carriers_.end_of(direction.opposite());
    return end != nullptr && agree_on_detour(*end, body);
}

// Returns false if the setup is impossible.
bool LinkManager::agree_on_cable(LinkEnd& end, const Channel& channel, const SetupBody& body) {
    if (!end.awaits_cable(channel, body.state)) return true;
    if (!end.take_setup(body) || !end.confirm_writes(body.notices)) return false;
    TORUSMP_TRACE(link, info, commons_.rank(), "agrees with rank {} on their cable, version {}",
                  end.connection().peer, end.cable_version());
    report_state(carriers_.of(end), routing::LinkNews::State::alive);
    end.resume_on_cable();
    commons_.stirred = true;
    return true;
}

bool LinkManager::agree_on_detour(LinkEnd& end, const SetupBody& body) {
    if (!end.awaits_detour(body.state)) return true;
    if (!end.take_setup(body) || !end.confirm_writes(body.notices)) return false;
    TORUSMP_TRACE(link, info, commons_.rank(), "agrees with rank {} on their detour",
                  end.connection().peer);
    report_state(carriers_.of(end), routing::LinkNews::State::detour);
    commons_.stirred = true;
    return true;
}

bool LinkManager::take_confirm(Connection& in, const Channel& channel, const PacketHeader& header,
                               const std::byte* payload) {
    ConfirmBody body;
    if (header.length != sizeof body || in.end == nullptr) return false;
    std::memcpy(&body, payload, sizeof body);
    return &channel != in.end->cable() || in.end->confirm_writes(body.notices);
}

// ---- progress ----

bool LinkManager::poll() {
    commons_.errands &= ~Commons::links;
    bool moved = report_dead_neighbours();
    for (LinkCarrier& it : carriers_)
        if (it.end != nullptr && it.end->fail_writes()) {
            const std::uint32_t version = states_.version(it.end->link());
            update(it.end->link(), LinkStates::without_hope(version), nullptr);
            moved = true;
        }
    act_on_changes();
    for_each_end([&](LinkEnd& end, LinkCarrier&) {
        greet(end);
        moved |= end.offer_held(sink_);
        detours_.pump(end);
    });
    bool busy = false;
    for (LinkCarrier& it : carriers_) {
        if (it.connection == nullptr) continue;
        moved |= control_.flush(it);
        busy |= it.has_queued() || (it.has_open_end() && !it.end->on_cable());
        if (commons_.options.tolerates_deaths && it.end != nullptr && it.end->closed())
            busy |= take_leave(*it.end);
    }
    if (busy) commons_.errands |= Commons::links;
    return moved;
}

bool LinkManager::on_cables() const {
    return std::all_of(carriers_.begin(), carriers_.end(), [](const LinkCarrier& it) {
        return it.end == nullptr || it.end->on_cable();
    });
}

LinkHoldings LinkManager::holdings() const {
    LinkHoldings sum;
    for (const LinkCarrier& it : carriers_) {
        sum.news += it.news.size();
        sum.setups += it.setups.size();
        if (it.end != nullptr) it.end->add_to(sum);
    }
    return sum;
}

void LinkManager::report(Waits& waits) const {
    for (const LinkCarrier& it : carriers_) {
        if (it.end == nullptr || it.end->on_cable()) continue;
        waits.notes.push_back(
            fmt::format("{}: {}", commons_.name_of(*it.connection), it.end->describe()));
    }
}

}  // namespace torusmp::core

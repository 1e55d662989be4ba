// SPDX-License-Identifier: BSD-3-Clause
// The states of links and their consequences.
#include "core/link/link_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/trace.h"

namespace torusmp::core {

using routing::Link;
using transport::Channel;

LinkManager::LinkManager(Commons& commons, Connections& connections, PacketSender& sender,
                         FaultHandler& faults, transport::Sink& sink, TransferListener& transfers)
    : commons_(commons),
      connections_(connections),
      sender_(sender),
      faults_(faults),
      sink_(sink),
      transfers_(transfers),
      detour_vc_(commons.torus().dimensions()),
      control_vc_(detour_vc_ + 1),
      vc_count_(commons.options.detour ? control_vc_ + 1 : 0),
      states_(commons.torus()) {}

// Links within a host end with their ranks, so their channels are used directly.
void LinkManager::adopt() {
    if (vc_count_ == 0) return;
    for (Connection* const connection : connections_.links()) {
        if (connection == nullptr) continue;
        Hop& it = hops_[std::size_t(connection->link->index())];
        TORUSMP_ASSERT(it.connection == nullptr, commons_.rank(), connection->peer);
        it.connection = connection;
        if (!connections_.outlives_cable(*connection)) continue;
        const Link link = routing::link_by(commons_.torus(), commons_.rank(), *connection->link);
        it.end = std::make_unique<LinkEnd>(*this, *connection, link, commons_.options.body());
        connection->end = it.end.get();
        connection->channel = it.end.get();
    }
    for (const Link& link : commons_.options.dead_links) states_.learn(link, LinkStates::died(0));
    settle();
}

// ---- states of links ----

void LinkManager::learn(const Link& link, std::uint32_t version, const Connection* heard_from) {
    [[maybe_unused]] const std::uint32_t known = states_.version(link);
    if (!states_.learn(link, version)) return;
    TORUSMP_TRACE(link, info, commons_.rank(),
                  "the link of rank {} in dimension {} is {}: version {} after {}, from {}",
                  link.rank, link.dimension,
                  LinkStates::is_given_up(version)   ? "given up"
                  : LinkStates::is_hopeless(version) ? "dead without a cable"
                  : LinkStates::is_dead(version)     ? "dead"
                                                     : "back",
                  version, known, heard_from != nullptr ? heard_from->peer : commons_.rank());
    commons_.errands |= Commons::links;
    for (Hop& it : hops_)
        if (it.connection != nullptr && it.connection != heard_from && cable_of(it) != nullptr)
            it.news.insert(link);
}

// Acts on the present states. News is queued before any setup, and leaves before it on every link,
// so the receiver of a setup knows at least what its sender knew.
void LinkManager::settle() {
    if (std::exchange(changes_seen_, states_.changes()) == states_.changes()) return;
    for (bool again = true; std::exchange(again, false);) {
        for_each_end([&](LinkEnd& end, Hop& it) { again |= follow_version(end, it); });
        again |= give_up_links();
    }
    TORUSMP_ASSERT(commons_.lock.held(), commons_.rank());
    if (!states_.rest().connected()) give_up_parts();
    if (settled_ == states_.digest()) return;
    settled_ = states_.digest();
    for_each_end([&](LinkEnd& end, Hop&) {
        if (states_.dead(end.link_)) begin_session(end);
    });
}

// Handles the death or return of a link that ends here. Returns true if that has made news.
bool LinkManager::follow_version(LinkEnd& end, Hop& it) {
    const std::uint32_t version = LinkStates::life(states_.version(end.link_));
    if (version == end.cable_version_) return false;
    TORUSMP_ASSERT(version > end.cable_version_, commons_.rank(), end.connection_.peer, version,
                   end.cable_version_);
    commons_.errands |= Commons::links;
    if (LinkStates::is_dead(version)) {
        end.cable_version_ = version;
        tell(end, routing::LinkNews::State::dead);
        end.drop_cable("its other end reports it dead");
        end.part();
        it.news.clear();
        it.setups.clear();
        it.confirms = false;
        end.heard_ = false;
        end.greeted_ = 0;
        if (connections_.peer(end.connection_.peer).dead)
            faults_.close(end.connection_, Error::unreachable, "its other end is dead");
        else if (end.candidate_ == nullptr)
            look_again(end, true);
        return false;
    }
    if (end.candidate_ == nullptr || !end.heard_ || end.candidate_->connecting()) {
        learn(end.link_, LinkStates::died(version), nullptr);  // the cable died before it was used
        return true;
    }
    end.cable_version_ = version;
    TORUSMP_ASSERT(end.cable_ == nullptr && !end.on_cable(), commons_.rank(), end.connection_.peer,
                   version);
    end.cable_ = std::exchange(end.candidate_, nullptr);
    end.connection_.cable = end.cable_;
    end.part();
    for (const auto& known : states_.versions()) it.news.insert(known.first);
    const SetupBody body{version, end.settle_taken(), end.notices_, 1};
    it.setups[{commons_.rank(), end.connection_.link->index()}] = {
        commons_.rank(), end.connection_.peer, end.connection_.link->index(), body};
    return false;
}

// Requests the cable from the transport again, which reports when it is back, or that it does not
// return. A cable that has worked and dies again is held down, unless nothing else joins its ends.
void LinkManager::look_again(LinkEnd& end, bool had_met) {
    end.heard_ = false;
    end.greeted_ = 0;
    const bool pauses = had_met && !states_.detours().parts().apart(end.link_);
    const auto pause = pauses ? end.hold_down() : std::chrono::nanoseconds{0};
    end.held_down_ = pause.count() != 0;
    end.candidate_ = connections_.connect_again(end.connection_, pause);
    if (end.candidate_ != nullptr)
        end.connection_.credits.gain_cable(end.lanes_);
    else
        learn(end.link_, LinkStates::without_hope(states_.version(end.link_)), nullptr);
}

// Starts a session under a new state, on which the ends must agree again: ranks that know of the
// new state drop frames of the old one.
void LinkManager::begin_session(LinkEnd& end) {
    end.part();
    const auto path = states_.crossing(commons_.rank(), commons_.rank(), *end.connection_.link);
    if (!path || !path->out) {  // it waits for a cable or is given up
        if (end.held_down_ && end.candidate_ != nullptr && end.candidate_->connecting()) {
            end.give_candidate_up("the other end needs it now");
            look_again(end, false);
        }
        return;
    }
    TORUSMP_ASSERT(end.cable_ == nullptr && !end.on_cable(), commons_.rank(), end.connection_.peer);
    end.session_ = states_.digest();
    TORUSMP_TRACE(link, info, commons_.rank(), "asks rank {} for a detour that starts by link {}{}",
                  end.connection_.peer, path->out->dimension, path->out->sign > 0 ? '+' : '-');
    const SetupBody body{end.session_, end.settle_taken(), end.notices_, 0};
    hop(*path->out)->setups[{commons_.rank(), end.connection_.link->index()}] = {
        commons_.rank(), end.connection_.peer, end.connection_.link->index(), body};
}

// Gives up our links without hope if, as far as this rank knows, they separate it from other ranks.
// News that there is hope for another such link may be delayed at a rank that is computing. So each
// link is given up by its own end, which knows its state, and no rank is lost before all ends on
// this side have done so. Returns true if this rank has.
bool LinkManager::give_up_links() {
    if (states_.hopes().connected()) return false;
    const routing::Parts parts = states_.hopes();  // learn() below changes it
    bool news = false;
    for (Hop& it : hops_) {
        if (it.end == nullptr) continue;
        const Link& link = it.end->link_;
        const std::uint32_t version = states_.version(link);
        if (!parts.apart(link) || LinkStates::given_up(version) == version) continue;
        learn(link, LinkStates::given_up(version), nullptr);
        news = true;
    }
    return news;
}

// Gives up the ranks to which no path remains.
void LinkManager::give_up_parts() {
    const routing::Parts parts = states_.rest();  // closing below may bring further news
    const int ours = parts.of(commons_.rank());
    const std::string what = describe_cut();
    for_each_end([&](LinkEnd& end, Hop&) {
        if (parts.of(end.connection_.peer) != ours)
            faults_.close(end.connection_, Error::unreachable, what);
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

void LinkManager::tell(LinkEnd& end, routing::LinkNews::State state) {
    routing::LinkNews news{.direction = *end.connection_.link,
                           .peer = end.connection_.peer,
                           .state = state,
                           .path = {},
                           .why = std::exchange(end.why_, {})};
    if (state == routing::LinkNews::State::detour)
        news.path = states_.detours().around(commons_.rank(), news.direction).value();
    if (std::exchange(end.told_, news.path) == news.path && !news.path.empty()) return;
    if (commons_.options.log_link)
        commons_.options.log_link(news);
    else if (!news.why.empty())
        commons_.log(
            fmt::format("{} has lost its cable: {}", commons_.name_of(end.connection_), news.why));
}

void LinkManager::on_down(LinkEnd& end, const Channel& channel, std::string_view why) {
    if (end.closed_) return;
    const std::uint32_t version = states_.version(end.link_);
    if (&channel == end.cable_) {
        end.why_ = why;
        learn(end.link_, LinkStates::died(version), nullptr);
        settle();
    } else if (&channel == end.candidate_) {
        end.connection_.credits.lose_cable(end.lanes_);
        // A cable that was up and died may flap again.
        if (channel.has_met())
            ++end.lost_;
        else
            learn(end.link_, LinkStates::without_hope(version), nullptr);
        look_again(end, channel.has_met());
        settle();
    }
}

// For the other ranks the link is dead like any other; core has already reported the reason.
void LinkManager::closed(LinkEnd& /*end*/) {
    commons_.errands |= Commons::links;
}

void LinkManager::blame(LinkEnd& end, std::string_view what) {
    faults_.close(end.connection_, Error::protocol, what);
}

void LinkManager::on_notice(LinkEnd& end, std::uint64_t notice) {
    count_write(end);
    transfers_.on_notice(end.connection_, notice);
}

// Counts a completed write of the far end, which must be confirmed.
void LinkManager::count_write(LinkEnd& end) {
    ++end.notices_;
    ++end.unconfirmed_;
    if (end.cable_ != nullptr)
        hop(*end.connection_.link)->confirms = true;
    else
        end.tell_ = true;
    commons_.errands |= Commons::links;
}

void LinkManager::on_transfer(LinkEnd& end, const Channel& channel, std::uint64_t number, bool ok) {
    if (ok && !end.can().notifies && end.on_cable() && &channel == end.cable_)
        end.on_transfer(number);
}

void LinkManager::on_write_done(LinkEnd& end, std::uint64_t cookie) {
    transfers_.on_transfer(end.connection_, cookie, true);
}

// ---- progress ----

void LinkManager::fail_writes(LinkEnd& end) {
    end.fail_writes_ = false;
    while (!end.writes_.empty()) {
        const bool done = end.writes_[0].done;
        const std::uint64_t cookie = end.writes_[0].cookie;
        end.writes_.pop();
        if (!done) transfers_.on_transfer(end.connection_, cookie, false);
    }
}

bool LinkManager::poll() {
    commons_.errands &= ~Commons::links;
    bool moved = false;
    for (Hop& it : hops_)
        if (it.end != nullptr && it.end->fail_writes_) {
            fail_writes(*it.end);
            const std::uint32_t version = states_.version(it.end->link_);
            learn(it.end->link_, LinkStates::without_hope(version), nullptr);
            moved = true;
        }
    settle();
    for_each_end([&](LinkEnd& end, Hop&) {
        greet(end);
        moved |= offer_held(end);
        pump(end);
    });
    bool busy = false;
    for (Hop& it : hops_) {
        if (it.connection == nullptr) continue;
        moved |= flush(it);
        busy |= !it.news.empty() || !it.setups.empty() || it.confirms;
        busy |= it.end != nullptr && !it.end->closed_ && !it.end->on_cable();
    }
    if (busy) commons_.errands |= Commons::links;
    return moved;
}

bool LinkManager::on_cables() const {
    return std::all_of(hops_.begin(), hops_.end(),
                       [](const Hop& it) { return it.end == nullptr || it.end->on_cable(); });
}

LinkHoldings LinkManager::holdings() const {
    LinkHoldings sum;
    for (const Hop& it : hops_) {
        sum.news += it.news.size();
        sum.setups += it.setups.size();
        if (it.end != nullptr) it.end->add_to(sum);
    }
    return sum;
}

void LinkManager::report(Waits& waits) const {
    for (const Hop& it : hops_) {
        if (it.end == nullptr || it.end->on_cable()) continue;
        const LinkEnd& end = *it.end;
        std::string text =
            fmt::format("{}: {}; {} remote writes open", commons_.name_of(*it.connection),
                        end.closed_    ? "given up"
                        : end.agreed_  ? "on a detour"
                        : end.cable_   ? "its cable is back; waiting for the other end to confirm"
                        : end.session_ ? "waiting for the other end to agree on the detour"
                                       : "has no detour",
                        end.writes_.size());
        for (int k = 0; k < it.connection->virtual_channels; ++k)
            if (const std::size_t held = end.held_[std::size_t(k)].size();
                held != 0 || end.unsent(k) != 0)
                text += fmt::format("\n  virtual channel {}: {} packets held, {} to leave", k, held,
                                    end.unsent(k));
        waits.notes.push_back(std::move(text));
    }
}

}  // namespace torusmp::core

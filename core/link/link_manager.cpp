// SPDX-License-Identifier: BSD-3-Clause
// What is known of links, and what follows from it.
#include "core/link/link_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

// Links within a host end with their ranks: nothing stands before their channels.
void LinkManager::adopt() {
    if (vc_count_ == 0) return;
    for (Connection* const connection : connections_.links()) {
        if (connection == nullptr) continue;
        Hop& it = hops_[std::size_t(connection->link->index())];
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

// ---- what is known ----

void LinkManager::learn(const Link& link, std::uint32_t version, const Connection* heard_from) {
    if (!states_.learn(link, version)) return;
    commons_.errands |= Commons::links;
    for (Hop& it : hops_)
        if (it.connection != nullptr && it.connection != heard_from && cable_of(it) != nullptr)
            it.news.insert(link);
}

// Follows what is known now. News are queued before any setup, and leave before it by every link:
// so who gets a setup knows at least what its sender knew.
void LinkManager::settle() {
    if (std::exchange(changes_seen_, states_.changes()) == states_.changes()) return;
    for (bool again = true; std::exchange(again, false);) {
        for_each_end([&](LinkEnd& end, Hop& it) { again |= follow_version(end, it); });
        again |= give_up_links();
    }
    if (!states_.rest().connected()) give_up_parts();
    if (settled_ == states_.digest()) return;
    settled_ = states_.digest();
    for_each_end([&](LinkEnd& end, Hop&) {
        if (states_.dead(end.link_)) begin_session(end);
    });
}

// A link of ours has died, or is back. True: that has made news.
bool LinkManager::follow_version(LinkEnd& end, Hop& it) {
    const std::uint32_t version = LinkStates::life(states_.version(end.link_));
    if (version == end.cable_version_) return false;
    commons_.errands |= Commons::links;
    if (LinkStates::is_dead(version)) {
        end.cable_version_ = version;
        tell(end, routing::LinkNews::State::dead);
        end.drop_cable("its other end says that it is dead");
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
        learn(end.link_, LinkStates::died(version), nullptr);  // it did not last so long
        return true;
    }
    end.cable_version_ = version;
    end.cable_ = std::exchange(end.candidate_, nullptr);
    end.connection_.cable = end.cable_;
    end.part();
    for (const auto& known : states_.versions()) it.news.insert(known.first);
    const SetupBody body{version, end.settle_taken(), end.notices_, 1};
    it.setups[{commons_.rank(), end.connection_.link->index()}] = {
        commons_.rank(), end.connection_.peer, end.connection_.link->index(), body};
    return false;
}

// Asks the transport for the cable again. It tells when it is back, or that it does not come.
// A cable that has worked and dies again is held down, unless nothing else joins its ends.
void LinkManager::look_again(LinkEnd& end, bool had_met) {
    end.heard_ = false;
    end.greeted_ = 0;
    const bool pauses = had_met && !states_.detours().parts().apart(end.link_);
    const auto pause = pauses ? end.hold_down() : std::chrono::nanoseconds{0};
    end.held_down_ = pause.count() != 0;
    end.candidate_ = connections_.connect_again(end.connection_, pause);
    if (end.candidate_ != nullptr)
        end.connection_.credits |= end.connection_.all_credits & ~end.lanes_;
    else
        learn(end.link_, LinkStates::without_hope(states_.version(end.link_)), nullptr);
}

// Under a new state the ends agree anew: frames of the old one are thrown away wherever they meet
// somebody who knows of the new.
void LinkManager::begin_session(LinkEnd& end) {
    end.part();
    const auto path = states_.crossing(commons_.rank(), commons_.rank(), *end.connection_.link);
    if (!path || !path->out) {  // it waits for a cable, or is given up
        if (end.held_down_ && end.candidate_ != nullptr && end.candidate_->connecting()) {
            end.give_candidate_up("it is wanted at once");
            look_again(end, false);
        }
        return;
    }
    end.session_ = states_.digest();
    const SetupBody body{end.session_, end.settle_taken(), end.notices_, 0};
    hop(*path->out)->setups[{commons_.rank(), end.connection_.link->index()}] = {
        commons_.rank(), end.connection_.peer, end.connection_.link->index(), body};
}

// As far as we have heard, links of ours without hope part us from others. News that there is hope
// for another of these links may be at a rank on the way here that computes. So each is given up by
// its own end, which knows, and nobody is lost before all ends on this side have said so; true: we
// have.
bool LinkManager::give_up_links() {
    if (states_.hopes().connected()) return false;
    const routing::Parts parts = states_.hopes();  // what is learnt below changes it
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

// Ranks that no link joins to us any more, by whatever way.
void LinkManager::give_up_parts() {
    const routing::Parts parts = states_.rest();  // what is closed may tell of more
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
    std::string text = "no way is left around the dead links between ";
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
        end.connection_.credits &= end.lanes_;
        end.connection_.owed &= end.lanes_;
        // One that was up and is gone may come again like this one did.
        if (channel.has_met())
            ++end.lost_;
        else
            learn(end.link_, LinkStates::without_hope(version), nullptr);
        look_again(end, channel.has_met());
        settle();
    }
}

// For the others it is dead like any other link; what core had to say of it, it has said.
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

// One of the far end's is complete, which is to hear of it.
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
                        : end.cable_   ? "its cable is back, and the far end has not said so"
                        : end.session_ ? "its far end has not agreed on the detour"
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

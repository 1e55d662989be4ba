// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/link_end.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "core/link/link_manager.h"

namespace torusmp::core {

using transport::ConstBytes;
using transport::CreditWord;
using transport::PacketHeader;
using transport::RemoteMemory;
using transport::Transfer;

namespace {

// Links have no reads: the outcome of a read that is pending when a cable dies is unknown.
transport::Capabilities capabilities_over(const transport::Capabilities& cable) {
    transport::Capabilities can = cable;
    can.reads = can.reads_at_once = false;
    return can;
}

}  // namespace

LinkEnd::LinkEnd(LinkManager& manager, Connection& connection, const routing::Link& link,
                 std::size_t slot_bytes)
    : Channel(capabilities_),
      manager_(manager),
      connection_(connection),
      link_(link),
      lanes_(lanes_below(connection.virtual_channels)),
      capabilities_(capabilities_over(connection.channel->can())),
      apart_(*this),
      retained_(connection.virtual_channels, connection.credits.limit(), slot_bytes),
      way_(connection.channel),
      cable_(connection.channel),
      candidate_(nullptr) {
    owner = &connection;
    TORUSMP_ASSERT(cable_ != nullptr && connection.credits.granted() == connection.credits.limit(),
                   connection.peer, connection.credits.granted(), connection.credits.limit());
}

// True until packets can leave on some path.
bool LinkEnd::connecting() const {
    return !closed_ && (on_cable() ? cable_->connecting() : !agreed_);
}

// On a detour, the cables of its links report this.
transport::Channel::Unanswered LinkEnd::unanswered() const {
    if (on_cable()) return cable_->unanswered();
    LinkHoldings kept;
    add_to(kept);
    return {.bytes = kept.bytes, .apart = !closed_ && !agreed_ && kept.packets + kept.writes != 0};
}

void LinkEnd::stir() {
    manager_.pump(*this);
}

// Credits of the last two virtual channels belong to a cable, whatever carries the link.
void LinkEnd::grant(CreditWord credits) {
    granted_ = add_lanes(granted_, credits & lanes_);
    if (cable_ != nullptr) [[likely]]
        return cable_->grant(credits);
    if ((credits & ~lanes_) != 0 && candidate_ != nullptr) candidate_->grant(credits & ~lanes_);
    if ((credits & lanes_) == 0) return;
    tell_ = true;
    manager_.pump(*this);
}

CreditWord LinkEnd::collect_apart() {
    transport::Channel* const cable = cable_ != nullptr ? cable_ : candidate_;
    if (cable == nullptr) return 0;
    const CreditWord word = cable->collect_grants();
    stashed_ = add_lanes(stashed_, word & lanes_);
    return word & ~lanes_;
}

// ---- remote writes ----

// Whether the memory can be written over the cable, once that is back.
bool LinkEnd::can_write(const RemoteMemory& remote) const {
    if (closed_ || (!on_cable() && !can().notifies)) return false;
    const transport::Channel* const cable = cable_ != nullptr ? cable_ : candidate_;
    return cable != nullptr ? cable->could_write(remote) : remote.length != 0;
}

Transfer LinkEnd::write(const RemoteMemory& remote, std::size_t offset,
                        std::span<const ConstBytes> local, std::uint64_t cookie,
                        std::optional<std::uint64_t> notice) {
    if (!can_write(remote) || offset > remote.length) return Transfer::refused;
    TORUSMP_ASSERT(!local.empty() && local.size() <= can().most_pieces, connection_.peer,
                   local.size(), can().most_pieces);
    RetainedWrite& write = writes_.push();
    write.remote = remote;
    write.offset = offset;
    write.local.assign(local.begin(), local.end());
    write.cookie = cookie;
    write.notice = notice;
    if (write.bytes() > remote.length - offset) {
        writes_.drop_last();
        return Transfer::refused;
    }
    if (!on_cable()) {
        manager_.pump(*this);
        return Transfer::pending;
    }
    const Transfer transfer = start(writes_.size() - 1);
    // A cable that refuses what can_write() has allowed has gone down and will be reported: the
    // write is then sent again.
    if (can().notifies || transfer == Transfer::pending) return Transfer::pending;
    writes_.drop_last();
    return transfer;
}

Transfer LinkEnd::start(std::size_t at) {
    const RetainedWrite& write = writes_[at];
    return cable_->write(write.remote, write.offset, write.local, writes_.number_of(at),
                         write.notice);
}

// A failed write is resent when the link continues, because a write fails only with its cable.
void LinkEnd::on_transfer(std::uint64_t number) {
    RetainedWrite* const write = writes_.find(number);
    if (write == nullptr || write->done) return;
    write->done = true;
    const std::uint64_t cookie = write->cookie;
    while (!writes_.empty() && writes_[0].done) writes_.pop();
    manager_.on_write_done(*this, cookie);
}

// ---- changes of path ----

LaneCounts LinkEnd::settle_taken() {
    granted_ = add_lanes(granted_, connection_.credits.settle(lanes_));
    return granted_;
}

void LinkEnd::part() {
    check_credits();
    way_ = &apart_;
    agreed_ = false;
    session_ = 0;
    number_ = expected_ = 0;
    write_ = written_ = 0;
    writes_.drop_done();
    tell_ = false;
    // Packets that core holds were not taken, so they will arrive again.
    for (auto& held : held_) held.clear();
    connection_.held.release_below(connection_.virtual_channels);
}

void LinkEnd::drop_cable(std::string_view why) {
    if (cable_ == nullptr) return;
    std::exchange(cable_, nullptr)->close(why);
    connection_.cable = nullptr;
    ++lost_;
    stashed_ = 0;
    // The slots of the last two virtual channels belonged to the cable.
    connection_.credits.lose_cable(lanes_);
    connection_.held.release_all();
}

std::chrono::nanoseconds LinkEnd::hold_down() const {
    if (lost_ < 2) return std::chrono::nanoseconds{0};
    return manager_.hold_down() * (1 << std::min(lost_ - 2, 10u));
}

void LinkEnd::give_candidate_up(std::string_view why) {
    if (candidate_ == nullptr) return;
    std::exchange(candidate_, nullptr)->close(why);
    connection_.credits.lose_cable(lanes_);
    connection_.held.release_from(connection_.virtual_channels);
}

bool LinkEnd::take_granted(LaneCounts granted) {
    const CreditWord fresh = subtract_lanes(granted, home_) & lanes_;
    if (!connection_.credits.give_back(fresh)) return false;
    home_ = add_lanes(home_, fresh);
    return true;
}

bool LinkEnd::take_setup(const SetupBody& body) {
    if (!take_granted(body.taken)) return false;
    TORUSMP_ASSERT(!agreed_ && !on_cable(), connection_.peer, agreed_, session_);
    check_credits();
    // Its credits have returned, so the packets without a credit are those it has not taken.
    emitted_ = body.taken & lanes_;
    for (int k = 0; k < connection_.virtual_channels; ++k)
        TORUSMP_ASSERT(unsent(k) == connection_.credits.taken(k), connection_.peer, k, unsent(k),
                       connection_.credits.granted(), body.taken);
    agreed_ = true;
    for (int k = 0; k < connection_.virtual_channels; ++k)
        connection_.statistics.resent += unsent(k);
    connection_.statistics.resent += writes_.size();
    return true;
}

void LinkEnd::resume_on_cable() {
    TORUSMP_ASSERT(cable_ != nullptr && agreed_ && !on_cable(), connection_.peer, agreed_, session_,
                   cable_version_);
    way_ = cable_;
    if (!take_granted(add_lanes(home_, std::exchange(stashed_, 0)))) {
        manager_.blame(*this, "more credits returned than were taken");
        return;
    }
    check_credits();
    for (int k = 0; k < connection_.virtual_channels; ++k)
        for (unsigned back = unsent(k); back > 0; --back) {
            const Retained::Packet& packet = retained_.back(k, back);
            if (packet.placed != 0)
                cable_->send_placed(packet.header, packet.front(), packet.behind(),
                                    packet.target());
            else
                cable_->send(packet.header, packet.front());
        }
    // The end of one write may start another, which core does itself.
    const std::uint64_t end = writes_.number_of(writes_.size());
    for (std::uint64_t number = writes_.number_of(0); number != end; ++number)
        if (start(std::size_t(number - writes_.number_of(0))) == Transfer::done && !can().notifies)
            on_transfer(number);
}

void LinkEnd::add_to(LinkHoldings& sum) const {
    for (int k = 0; k < connection_.virtual_channels; ++k) {
        sum.packets += transport::credits_in(subtract_lanes(retained_.sent(), home_), k);
        sum.held += held_[std::size_t(k)].size();
    }
    sum.writes += writes_.size();
    sum.bytes += retained_.bytes();
}

// Core closes the link. Its writes end at the next poll, as a transport's do.
void LinkEnd::close(std::string_view why) {
    if (closed_) return;
    closed_ = true;
    fail_writes_ = true;
    drop_cable(why);
    give_candidate_up(why);
    part();
    manager_.closed(*this);
}

}  // namespace torusmp::core

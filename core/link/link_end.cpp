// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/link_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/trace.h"
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

// Writes whose confirmation may wait for the next one.
constexpr std::uint32_t most_unconfirmed = 8;

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

void LinkEnd::become(State next) {
    TORUSMP_ASSERT(may_follow(next, state_), connection_.peer, state_, next);
    TORUSMP_ASSERT(next == State::closed ||
                       (cable_ != nullptr) == (next == State::on_cable || next == State::returning),
                   connection_.peer, state_, next, cable_);
    TORUSMP_TRACE(link, debug, manager_.rank(), "the link to rank {}: {} (was: {})",
                  connection_.peer, name_of(next), name_of(state_));
    state_ = next;
    way_ = on_cable() ? cable_ : &apart_;
}

// True until packets can leave on some path.
bool LinkEnd::connecting() const {
    return on_cable() ? cable_->connecting() : state_ != State::on_detour && !closed();
}

// On a detour, the cables of its links report this.
transport::Channel::Unanswered LinkEnd::unanswered() const {
    if (on_cable()) return cable_->unanswered();
    LinkHoldings kept;
    add_to(kept);
    return {.bytes = kept.bytes,
            .apart = !closed() && state_ != State::on_detour && kept.packets + kept.writes != 0};
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
    if (closed() || (!on_cable() && !can().notifies)) return false;
    const transport::Channel* const cable = cable_ != nullptr ? cable_ : candidate_;
    return cable != nullptr ? cable->can_ever_write(remote) : remote.length != 0;
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
void LinkEnd::finish_write(std::uint64_t number) {
    RetainedWrite* const write = writes_.find(number);
    if (write == nullptr || write->done) return;
    write->done = true;
    const std::uint64_t cookie = write->cookie;
    while (!writes_.empty() && writes_[0].done) writes_.pop();
    manager_.on_write_end(*this, cookie, true);
}

bool LinkEnd::confirm_writes(std::uint32_t notices) {
    std::uint32_t fresh = notices - confirmed_;
    std::uint32_t open = 0;
    for (std::size_t i = 0; i < writes_.size(); ++i) open += counts(writes_[i]);
    if (fresh > open) return false;
    confirmed_ = notices;
    // Core may send when a write's end is reported; by then all of them have left the queue.
    std::vector<std::uint64_t> complete = std::exchange(complete_, {});
    while (fresh != 0) {
        TORUSMP_ASSERT(!writes_.empty(), connection_.peer, fresh, notices);
        const bool done = writes_[0].done;
        const std::uint64_t cookie = writes_[0].cookie;
        fresh -= counts(writes_[0]);
        writes_.pop();
        if (write_ != 0)
            --write_;
        else
            written_ = 0;
        if (!done) complete.push_back(cookie);
    }
    for (const std::uint64_t cookie : complete) manager_.on_write_end(*this, cookie, true);
    complete.clear();
    complete_ = std::move(complete);
    return true;
}

void LinkEnd::count_write() {
    ++notices_;
    ++unconfirmed_;
    (cable_ != nullptr ? confirms_ : tell_) = true;
    manager_.wake();
}

// While a further write is arriving, its confirmation also covers the earlier ones.
bool LinkEnd::must_confirm() const {
    TORUSMP_ASSERT(!confirms_ || cable_ != nullptr, connection_.peer, state_, unconfirmed_);
    return confirms_ && (!cable_->write_arriving() || unconfirmed_ >= most_unconfirmed);
}

bool LinkEnd::fail_writes() {
    if (!std::exchange(fail_writes_, false)) return false;
    while (!writes_.empty()) {
        const bool done = writes_[0].done;
        const std::uint64_t cookie = writes_[0].cookie;
        writes_.pop();
        if (!done) manager_.on_write_end(*this, cookie, false);
    }
    return true;
}

// ---- frames of a detour ----

bool LinkEnd::write_frame(Channel& cable, PacketHeader& header, std::size_t most) {
    for (int k = connection_.virtual_channels - 1; k >= 0; --k)
        if (unsent(k) != 0) {
            write_packet(cable, header, k);
            return true;
        }
    TORUSMP_ASSERT(write_ <= writes_.size(), connection_.peer, write_, writes_.size());
    if (write_ < writes_.size()) {
        write_piece(cable, header, most);
        return true;
    }
    if (!tell_) return false;
    begin_frame(cable, header, Detoured::nothing, 0);
    return true;
}

void LinkEnd::write_packet(Channel& cable, PacketHeader& header, int k) {
    TORUSMP_ASSERT(unsent(k) <= connection_.credits.limit(k), connection_.peer, k, unsent(k),
                   emitted_);
    const Retained::Packet& packet = retained_.back(k, unsent(k));
    TORUSMP_ASSERT(packet.header.virtual_channel == k, connection_.peer, k,
                   packet.header.virtual_channel, packet.header.kind);
    const bool placed = packet.placed != 0;
    const std::size_t bytes = packet.header.length + packet.placed;
    std::byte* to = begin_frame(cable, header, placed ? Detoured::placed : Detoured::packet,
                                sizeof packet.header + (placed ? sizeof(PlacedBody) : 0) + bytes);
    std::memcpy(to, &packet.header, sizeof packet.header);
    to += sizeof packet.header;
    if (placed) {
        const PlacedBody body{packet.address, packet.key, packet.placed};
        std::memcpy(to, &body, sizeof body);
        to += sizeof body;
    }
    if (bytes != 0) std::memcpy(to, packet.payload, bytes);
    emitted_ = add_lanes(emitted_, transport::credit_of(k));
}

void LinkEnd::write_piece(Channel& cable, PacketHeader& header, std::size_t most) {
    const RetainedWrite& write = writes_[write_];
    TORUSMP_ASSERT(written_ <= write.bytes(), connection_.peer, written_, write.bytes(), write_);
    const std::size_t left = write.bytes() - written_;
    const std::size_t bytes = std::min(left, most - sizeof(DetourBody) - sizeof(PieceBody));
    const PieceBody piece{write.remote, write.offset + written_, write.notice.value_or(0),
                          bytes == left ? 1u : 0u, write.notice ? 1u : 0u};
    std::byte* const to = begin_frame(cable, header, Detoured::piece, sizeof piece + bytes);
    std::memcpy(to, &piece, sizeof piece);
    write.copy(written_, bytes, to + sizeof piece);
    written_ += bytes;
    if (bytes == left) {
        ++write_;
        written_ = 0;
    }
}

// Returns room for content of this many bytes, after the header that all frames have.
std::byte* LinkEnd::begin_frame(Channel& cable, PacketHeader& header, Detoured content,
                                std::size_t bytes) {
    TORUSMP_ASSERT(state_ == State::on_detour && session_ != 0, connection_.peer, state_, session_);
    const DetourBody body{session_, granted_, notices_, content};
    tell_ = false;
    header.length = std::uint32_t(sizeof body + bytes);
    header.kind = std::uint8_t(LinkFrame::detour);
    header.source = std::uint32_t(manager_.rank());
    header.destination = std::uint32_t(connection_.peer);
    header.tag = connection_.link->index();
    header.sequence = number_++;
    std::byte* const to = cable.reserve(header.virtual_channel, header.length);
    std::memcpy(to, &body, sizeof body);
    return to + sizeof body;
}

// ---- changes of path ----

LaneCounts LinkEnd::return_taken() {
    granted_ = add_lanes(granted_, connection_.credits.take_owed(lanes_));
    return granted_;
}

void LinkEnd::leave_path() {
    if (state_ != State::apart) become(State::apart);
    forget_path();
}

void LinkEnd::forget_path() {
    check_credits();
    session_ = 0;
    number_ = expected_ = 0;
    write_ = written_ = 0;
    writes_.drop_done();
    tell_ = false;
    // Packets that core holds were not taken, so they will arrive again.
    held_.clear();
    connection_.held.release_below(connection_.virtual_channels);
}

SetupBody LinkEnd::ask(std::uint64_t session) {
    become(State::asking);
    session_ = session;
    return {session, return_taken(), notices_, 0};
}

SetupBody LinkEnd::take_cable_back(std::uint32_t version) {
    TORUSMP_ASSERT(candidate_ != nullptr && cable_ == nullptr && version > cable_version_,
                   connection_.peer, version, cable_version_, state_);
    leave_path();
    cable_version_ = version;
    cable_ = std::exchange(candidate_, nullptr);
    connection_.cable = cable_;
    become(State::returning);
    return {version, return_taken(), notices_, 1};
}

void LinkEnd::lose_cable(std::uint32_t version, std::string_view why) {
    TORUSMP_ASSERT(version > cable_version_, connection_.peer, version, cable_version_);
    cable_version_ = version;
    drop_cable(why);
    leave_path();
    TORUSMP_ASSERT(state_ == State::apart && session_ == 0, connection_.peer, state_, session_);
    heard_ = false;
    greeted_ = 0;
}

void LinkEnd::drop_cable(std::string_view why) {
    if (cable_ == nullptr) return;
    std::exchange(cable_, nullptr)->close(why);
    connection_.cable = nullptr;
    ++lost_;
    stashed_ = 0;
    confirms_ = false;
    // The slots of the last two virtual channels belonged to the cable.
    connection_.credits.lose_cable(lanes_);
    connection_.held.release_all();
}

std::chrono::nanoseconds LinkEnd::hold_down() const {
    if (lost_ < 2) return std::chrono::nanoseconds{0};
    return manager_.hold_down() * (1 << std::min(lost_ - 2, 10u));
}

void LinkEnd::try_cable(transport::Channel* channel) {
    TORUSMP_ASSERT(cable_ == nullptr && candidate_ == nullptr, connection_.peer, state_, cable_,
                   candidate_);
    // Nothing is left of the cable before: neither its credits nor a packet in its slots.
    TORUSMP_ASSERT(stashed_ == 0 && !connection_.held.any_from(connection_.virtual_channels),
                   connection_.peer, stashed_, connection_.virtual_channels);
    heard_ = false;
    greeted_ = 0;
    candidate_ = channel;
    if (candidate_ != nullptr) connection_.credits.gain_cable(lanes_);
}

void LinkEnd::give_candidate_up(std::string_view why) {
    if (candidate_ == nullptr) return;
    candidate_->close(why);
    lose_candidate();
}

void LinkEnd::lose_candidate() {
    candidate_ = nullptr;
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
    TORUSMP_ASSERT(state_ == State::asking || state_ == State::returning, connection_.peer, state_,
                   session_);
    check_credits();
    // Its credits have returned, so the packets without a credit are those it has not taken.
    emitted_ = body.taken & lanes_;
    for (int k = 0; k < connection_.virtual_channels; ++k)
        TORUSMP_ASSERT(unsent(k) == connection_.credits.taken(k), connection_.peer, k, unsent(k),
                       connection_.credits.granted(), body.taken);
    if (state_ == State::asking) become(State::on_detour);
    for (int k = 0; k < connection_.virtual_channels; ++k)
        connection_.statistics.resent += unsent(k);
    connection_.statistics.resent += writes_.size();
    return true;
}

void LinkEnd::resume_on_cable() {
    become(State::on_cable);
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
            finish_write(number);
}

void LinkEnd::add_to(LinkHoldings& sum) const {
    for (int k = 0; k < connection_.virtual_channels; ++k) {
        sum.packets += transport::credits_in(subtract_lanes(retained_.sent(), home_), k);
        sum.held += held_.size(k);
    }
    sum.writes += writes_.size();
    sum.bytes += retained_.bytes();
}

// Core closes the link. Its writes end at the next poll, as a transport's do.
void LinkEnd::close(std::string_view why) {
    if (closed()) return;
    become(State::closed);
    fail_writes_ = true;
    drop_cable(why);
    give_candidate_up(why);
    heard_ = false;
    forget_path();
}

std::string LinkEnd::describe() const {
    std::string text = fmt::format("{}; {} remote writes open", name_of(state_), writes_.size());
    for (int k = 0; k < connection_.virtual_channels; ++k)
        if (const std::size_t held = held_.size(k); held != 0 || unsent(k) != 0)
            text += fmt::format("\n  virtual channel {}: {} packets held, {} to leave", k, held,
                                unsent(k));
    return text;
}

}  // namespace torusmp::core

#include "core/link/link_end.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/link/link_manager.h"

namespace torusmp::core {

using transport::ConstBytes;
using transport::CreditWord;
using transport::PacketHeader;
using transport::RemoteMemory;
using transport::Transfer;

namespace {

// Remote writes are complete when the far end says so, by their notices.
transport::Capabilities capabilities_over(const transport::Capabilities& cable) {
    transport::Capabilities can = cable;
    can.reads = can.reads_at_once = can.places = false;
    if (!can.notifies) can.most_pieces = 1;
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
      retained_(connection.virtual_channels, connection.all_credits, slot_bytes),
      way_(connection.channel),
      cable_(connection.channel),
      candidate_(nullptr) {
    owner = &connection;
}

// Until packets can leave, one way or the other.
bool LinkEnd::connecting() const {
    return !closed_ && (on_cable() ? cable_->connecting() : !agreed_);
}

void LinkEnd::stir() {
    manager_.pump(*this);
}

// Credits of the two last virtual channels are those of a cable, whatever carries the link.
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

std::size_t LinkEnd::Write::bytes() const {
    std::size_t sum = 0;
    for (const ConstBytes& piece : local) sum += piece.size();
    return sum;
}

void LinkEnd::Write::copy(std::size_t from, std::size_t bytes, std::byte* to) const {
    for (const ConstBytes& piece : local) {
        const std::size_t over = std::min(from, piece.size());
        const std::size_t part = std::min(piece.size() - over, bytes);
        if (part != 0) std::memcpy(to, piece.data() + over, part);
        to += part;
        from -= over;
        bytes -= part;
        if (bytes == 0) return;
    }
}

bool LinkEnd::can_write(const RemoteMemory& remote) const {
    return can().notifies && !closed_ && way_->can_write(remote);
}

Transfer LinkEnd::write(const RemoteMemory& remote, std::size_t offset,
                        std::span<const ConstBytes> local, std::uint64_t cookie,
                        std::optional<std::uint64_t> notice) {
    if (!can_write(remote) || offset > remote.length) return Transfer::refused;
    Write write{remote, offset, {local.begin(), local.end()}, cookie, notice};
    if (write.bytes() > remote.length - offset) return Transfer::refused;
    writes_.push_back(std::move(write));
    if (on_cable())
        start(writes_.back());
    else
        manager_.pump(*this);
    return Transfer::pending;
}

// What the transport says of its end is not asked for: the far end tells.
void LinkEnd::start(const Write& write) {
    cable_->write(write.remote, write.offset, write.local, 0, write.notice);
}

// ---- from way to way ----

LaneCounts LinkEnd::settle_taken() {
    granted_ = add_lanes(granted_, connection_.owed & lanes_);
    connection_.owed &= ~lanes_;
    return granted_;
}

void LinkEnd::part() {
    way_ = &apart_;
    agreed_ = false;
    session_ = 0;
    number_ = expected_ = 0;
    write_ = written_ = 0;
    tell_ = false;
    // What core holds was not taken: it comes again.
    for (auto& held : held_) held.clear();
    connection_.held = std::uint8_t(connection_.held & ~((1u << connection_.virtual_channels) - 1));
}

void LinkEnd::drop_cable(std::string_view why) {
    if (cable_ == nullptr) return;
    std::exchange(cable_, nullptr)->close(why);
    connection_.cable = nullptr;
    ++lost_;
    stashed_ = 0;
    // The slots of the last two virtual channels were the cable's.
    connection_.credits &= lanes_;
    connection_.owed &= lanes_;
    connection_.held = 0;
}

std::chrono::nanoseconds LinkEnd::hold_down() const {
    if (lost_ < 2) return std::chrono::nanoseconds{0};
    return manager_.hold_down() * (1 << std::min(lost_ - 2, 10u));
}

bool LinkEnd::take_granted(LaneCounts granted) {
    const CreditWord fresh = subtract_lanes(granted, home_) & lanes_;
    if (!transport::grants_fit(connection_.credits, fresh, connection_.all_credits)) return false;
    connection_.credits += fresh;
    home_ = add_lanes(home_, fresh);
    return true;
}

bool LinkEnd::take_setup(const SetupBody& body) {
    if (!take_granted(body.taken)) return false;
    // Its credits are at home, so what has none is what it has not taken.
    emitted_ = body.taken & lanes_;
    agreed_ = true;
    return true;
}

void LinkEnd::resume_on_cable() {
    way_ = cable_;
    if (!take_granted(add_lanes(home_, std::exchange(stashed_, 0)))) {
        manager_.blame(*this, "more credits given back than were taken");
        return;
    }
    for (int k = 0; k < connection_.virtual_channels; ++k)
        for (unsigned back = unsent(k); back > 0; --back) {
            const Retained::Packet& packet = retained_.back(k, back);
            cable_->send(packet.header, {packet.payload, packet.header.length});
        }
    for (const Write& write : writes_) start(write);
}

// Core gives the link up. Its writes end at the next poll, as a transport's do.
void LinkEnd::close(std::string_view why) {
    if (closed_) return;
    closed_ = true;
    fail_writes_ = true;
    drop_cable(why);
    if (candidate_ != nullptr) std::exchange(candidate_, nullptr)->close(why);
    part();
    manager_.closed(*this);
}

}  // namespace torusmp::core

// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/session.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace torusmp::transport::ethernet {
Counters& Counters::operator+=(const Counters& other) {
    sent += other.sent;
    taken += other.taken;
    resent += other.resent;
    repeated += other.repeated;
    early += other.early;
    handed_over += other.handed_over;
    malformed += other.malformed;
    damaged += other.damaged;
    forged += other.forged;
    lost += other.lost;
    return *this;
}

void Session::begin(const Secret& secret, const Greeting& own, const Greeting& theirs) {
    const std::uint32_t mtu = std::min(own.mtu, theirs.mtu);
    if (own.session == 0 || theirs.session == 0 || mtu < 256) return;
    own_session_ = own.session;
    their_session_ = theirs.session;
    their_port_ = theirs.port;
    out_seal_ = Seal(secret, own, theirs);
    in_seal_ = Seal(secret, theirs, own);
    static constexpr std::size_t most_frame_bytes = 1500;  // the payload of an Ethernet frame
    outbox_.size_frames(std::min<std::size_t>(mtu, most_frame_bytes) / 8 * 8);
    path_ = Path::probing;
    probe_at_ = {};
}

// ---- out ----

bool Session::send(const PacketHeader& header, ConstBytes front, ConstBytes payload, bool at_once) {
    if (path_ != Path::frames) return false;
    const std::size_t bytes = record_bytes(front.size() + payload.size());
    if (!outbox_.fits(bytes)) return false;
    std::byte* room = outbox_.extend(bytes);
    if (room == nullptr && outbox_.is_filling()) {
        flush();
        room = outbox_.extend(bytes);
    }
    if (room == nullptr) return false;
    std::memcpy(room, &header, sizeof header);
    room += sizeof header;
    if (!front.empty()) std::memcpy(room, front.data(), front.size());
    if (!payload.empty()) std::memcpy(room + front.size(), payload.data(), payload.size());
    const std::size_t used = sizeof header + front.size() + payload.size();
    std::memset(room + front.size() + payload.size(), 0, bytes - used);
    if (at_once) flush();
    return true;
}

bool Session::grant(CreditWord credits, bool at_once) {
    if (path_ != Path::frames || !outbox_.begin()) return false;
    // If the lanes cannot hold both, the credits go in two frames.
    if (((granting_ + credits) & credit_guard_bits) != 0) {
        flush();
        if (!outbox_.begin()) return false;
    }
    granting_ += credits;
    TORUSMP_ASSERT((granting_ & credit_guard_bits) == 0, granting_, credits);
    if (at_once) flush();
    return true;
}

std::uint64_t Session::take_number() {
    flush();
    return outbox_.skip();
}

std::uint64_t Session::tell_confirmed() {
    // A gap is reported to the other end by a frame.
    if (!inbox_.has_early()) {
        owed_ = 0;
        awaited_ = false;
    }
    return inbox_.next();
}

void Session::flush() {
    if (!outbox_.is_filling()) return;
    FrameHeader header = header_of(Kind::packets, outbox_.next());
    header.grants = std::exchange(granting_, 0);
    TORUSMP_ASSERT(outbox_.filled() - sizeof header <= 0xffff, outbox_.filled(), outbox_.next());
    header.length = std::uint16_t(outbox_.filled() - sizeof header);
    std::memcpy(outbox_.filling(), &header, sizeof header);
    ++counters_.sent;
    const std::uint64_t number = outbox_.end();
    // Frames may have stopped getting through since it was begun.
    if (path_ == Path::frames)
        send_now(number);
    else
        hand_over();
}

void Session::send_now(std::uint64_t number) {
    if (!seal_and_send(outbox_.frame(number))) hand_over(number);
}

// Confirms what has arrived, in any frame that leaves.
bool Session::seal_and_send(std::byte* frame) {
    const std::uint64_t confirmed = inbox_.next();
    const std::uint64_t received = inbox_.early();
    std::memcpy(frame + offsetof(FrameHeader, confirmed), &confirmed, sizeof confirmed);
    std::memcpy(frame + offsetof(FrameHeader, received), &received, sizeof received);
    out_seal_.close(frame);
    std::uint16_t length = 0;
    std::memcpy(&length, frame + offsetof(FrameHeader, length), sizeof length);
    if (!carrier_.send_frame(frame, sizeof(FrameHeader) + length)) return false;
    all_is_said();
    return true;
}

void Session::all_is_said() {
    owed_ = 0;
    awaited_ = urgent_ = false;
}

FrameHeader Session::header_of(Kind kind, std::uint64_t number) const {
    FrameHeader header{};
    header.session = their_session_;
    header.port = their_port_;
    header.number = number;
    header.kind = kind;
    header.version = frame_version;
    return header;
}

// A probe is as long as the longest frame, because a device on the path may pass only shorter ones.
void Session::send_probe() {
    std::vector<std::byte> whole(Outbox::head_room + outbox_.most_bytes());
    FrameHeader header = header_of(Kind::probe, ++probe_);
    header.length = std::uint16_t(outbox_.most_bytes() - sizeof header);
    std::memcpy(whole.data() + Outbox::head_room, &header, sizeof header);
    seal_and_send(whole.data() + Outbox::head_room);
}

void Session::send_plain(Kind kind, std::uint64_t number) {
    const FrameHeader header = header_of(kind, number);
    std::memcpy(plain_ + Outbox::head_room, &header, sizeof header);
    seal_and_send(plain_ + Outbox::head_room);
}

void Session::confirm() {
    if (path_ == Path::none || (owed_ == 0 && !urgent_)) return;
    send_plain(Kind::confirmation, 0);
    all_is_said();  // even if the device refused the frame: the other end will ask by resending
}

void Session::resend(std::uint64_t number) {
    ++counters_.resent;
    const Kind kind = Kind::again;
    std::memcpy(outbox_.frame(number) + offsetof(FrameHeader, kind), &kind, sizeof kind);
    send_now(number);
}

void Session::hand_over() {
    flush();
    if (outbox_.kept() == 0) return;
    for (std::uint64_t number = outbox_.oldest(); number != outbox_.next(); ++number)
        if (outbox_.frame(number) != nullptr) hand_over(number);
}

void Session::hand_over(std::uint64_t number) {
    const std::byte* const frame = outbox_.frame(number);
    TORUSMP_ASSERT(frame != nullptr, number, outbox_.oldest(), outbox_.next(), outbox_.kept());
    FrameHeader header;
    std::memcpy(&header, frame, sizeof header);
    carrier_.send_records(number, header.grants, {frame + sizeof header, header.length});
    outbox_.forget(number);
    ++counters_.handed_over;
}

// ---- in ----

int Session::take_frame(const std::byte* frame, std::size_t bytes) {
    if (path_ == Path::none) return 0;
    switch (in_seal_.check(frame, bytes, own_session_)) {
        case Seal::Finding::sound:
            break;
        case Seal::Finding::malformed:
            ++counters_.malformed;
            return 0;
        case Seal::Finding::damaged:
            ++counters_.damaged;
            return 0;
        case Seal::Finding::forged:
            ++counters_.forged;
            return 0;
    }
    FrameHeader header;
    std::memcpy(&header, frame, sizeof header);
    mind(header);
    if (path_ == Path::none) return 0;
    switch (header.kind) {
        case Kind::again:
            count_loss(header.number);
            [[fallthrough]];
        case Kind::packets:
            ++counters_.taken;
            awaited_ = true;
            return take(header.number, header.grants, {frame + sizeof header, header.length});
        case Kind::probe:
            send_plain(Kind::answer, header.number);
            // The other end has begun a session; it may not have when our last probe arrived there.
            probe_at_ = {};
            return 0;
        case Kind::answer:
            if (path_ == Path::probing && header.number == probe_) {
                path_ = Path::frames;
                probe_wait_ = first_wait;
            }
            return 0;
        case Kind::confirmation:
            return 0;
    }
    return 0;
}

// A frame that had arrived before was sent again only because this end was slow to confirm it.
void Session::count_loss(std::uint64_t number) {
    const Inbox::Place place = inbox_.place_of(number);
    if (place != Inbox::Place::next && place != Inbox::Place::early) return;
    lost_in_a_row_ = number == last_lost_ + 1 ? lost_in_a_row_ + 1 : 1;
    last_lost_ = number;
    if (lost_in_a_row_ <= most_lost_in_a_row) ++counters_.lost;
}

// Handles the confirmations in any frame.
void Session::mind(const FrameHeader& header) {
    take_confirmed(header.confirmed);
    if (path_ == Path::none) return;
    if (header.received == 0 || header.confirmed < outbox_.oldest()) return;
    const unsigned highest = 63u - unsigned(std::countl_zero(header.received));
    const std::uint64_t newest = header.confirmed + 1 + highest;
    for (std::uint64_t number = header.confirmed; number < newest; ++number) {
        const std::uint64_t bit = number - header.confirmed - 1;  // there is none for the first
        const bool came = number != header.confirmed && ((header.received >> bit) & 1) != 0;
        if (!came && outbox_.is_lost(number, newest)) resend(number);
    }
}

void Session::take_confirmed(std::uint64_t below) {
    if (below > outbox_.next()) return fault("it confirms frames that were never sent");
    if (below > outbox_.oldest()) outbox_.confirm(below);
}

int Session::take_records(std::uint64_t number, CreditWord grants, ConstBytes records) {
    return take(number, grants, records);
}

int Session::take(std::uint64_t number, CreditWord grants, ConstBytes records) {
    ++owed_;
    switch (inbox_.place_of(number)) {
        case Inbox::Place::next:
            break;
        case Inbox::Place::early:
            ++counters_.early;
            urgent_ = true;
            inbox_.keep(number, grants, {}, records);
            return 0;
        case Inbox::Place::repeated:
            ++counters_.repeated;
            urgent_ = true;
            return 0;
        case Inbox::Place::beyond:
            ++counters_.malformed;
            return 0;
    }
    inbox_.advance();
    return deliver(grants, records) + take_kept();
}

int Session::take_packet(std::uint64_t number, const PacketHeader& header,
                         const std::byte* payload) {
    ++owed_;
    switch (inbox_.place_of(number)) {
        case Inbox::Place::next:
            break;
        case Inbox::Place::early:
            awaited_ = true;
            inbox_.keep(number, 0, std::as_bytes(std::span(&header, 1)), {payload, header.length});
            return 0;
        default:
            fault("an invalid number arrived over the connection");
            return 0;
    }
    inbox_.advance();
    const int taken = carrier_.on_record(header, payload);
    return taken + take_kept();
}

int Session::take_kept() {
    int taken = 0;
    CreditWord grants = 0;
    while (inbox_.has_early() && inbox_.take_next(grants, kept_)) {
        inbox_.advance();
        taken += deliver(grants, kept_);
    }
    return taken;
}

int Session::deliver(CreditWord grants, ConstBytes records) {
    int taken = 0;
    if (grants != 0) {
        carrier_.on_grants(grants);
        ++taken;
    }
    while (!records.empty()) {
        PacketHeader header;
        if (records.size() < sizeof header) {
            fault("a truncated record");
            return taken;
        }
        std::memcpy(&header, records.data(), sizeof header);
        if (header.length > records.size() - sizeof header) {
            fault("a record longer than its frame");
            return taken;
        }
        taken += carrier_.on_record(header, records.data() + sizeof header);
        records = records.subspan(std::min(records.size(), record_bytes(header.length)));
    }
    return taken;
}

void Session::fault(std::string_view why) {
    end();
    carrier_.on_fault(why);
}

// ---- time ----

void Session::tend(Clock::time_point now) {
    if (path_ == Path::none) return;
    if (path_ == Path::probing && now >= probe_at_) {
        send_probe();
        probe_at_ = now + probe_wait_;
        probe_wait_ = std::min<Clock::duration>(2 * probe_wait_, longest_wait);
    }
    if (outbox_.kept() == 0) {
        watched_ = ~std::uint64_t{0};
        return;
    }
    if (outbox_.oldest() != watched_) {
        watched_ = outbox_.oldest();
        since_ = now;
        wait_ = first_wait;
        resends_ = 0;
        return;
    }
    if (now - since_ < wait_) return;
    since_ = now;
    wait_ = std::min<Clock::duration>(2 * wait_, longest_wait);
    if (++resends_ > most_resends) {
        path_ = Path::probing;
        probe_at_ = now;
        return hand_over();
    }
    // The oldest number that went in a frame; gaps after it are reported when it arrives.
    std::uint64_t number = outbox_.oldest();
    while (outbox_.frame(number) == nullptr) ++number;
    TORUSMP_ASSERT(number < outbox_.next(), number, outbox_.oldest(), outbox_.next());
    resend(number);
}

Clock::time_point Session::due(Clock::time_point now) const {
    if (path_ == Path::none) return Clock::time_point::max();
    Clock::time_point at = Clock::time_point::max();
    if (path_ == Path::probing) at = probe_at_;
    if (outbox_.kept() != 0)
        at = std::min(at, outbox_.oldest() == watched_ ? since_ + wait_ : now + first_wait);
    return at;
}

}  // namespace torusmp::transport::ethernet

// SPDX-License-Identifier: BSD-3-Clause
// The rounds of a collective access through aggregators. Requests are numbered: a member sends
// header, list and contents for share k as 3k, 3k + 1 and 3k + 2, and receives contents of it as
// 3 * lanes * members + k; lane l of an aggregator receives from member i as 3j, 3j + 1 and 3j + 2,
// where j = l * members + i, and sends to it as 3 * shares + j.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/assert.h"
#include "io/access.h"
#include "io/collective_access.h"

namespace torusmp::io {
namespace {

constexpr std::size_t gap_read = 4096;

core::Buffer bytes_at(const void* memory, std::size_t bytes) {
    return {memory, bytes};
}

}  // namespace

bool CollectiveAccess::rounds() {
    // Each share goes on by itself, and so do the two sides of one.
    bool over = true;
    if (!own_lanes_.empty() && place_.store != nullptr) place_.store->take_ended(false);
    for (std::size_t l = 0; l < own_lanes_.size(); ++l) over &= aggregate(l);
    for (std::size_t k = 0; k < pieces_.size(); ++k) over &= client(k);
    set_working(transfers_under_way());
    return over;
}

// ---- a member ----

// Returns true if this member has moved its bytes of a share.
bool CollectiveAccess::client(std::size_t k) {
    Piece& piece = pieces_[k];
    while (piece.round < domains_.rounds()) {
        if (!piece.waits) post(k);
        piece.waits = true;
        if (piece.posted && !moved(k)) return false;
        if (failed()) return false;
        if (piece.posted && !call_.write && call_.buffer.layout != nullptr)
            call_.buffer.unpack(piece.done, piece.scratch.reserve(piece.bytes), piece.bytes);
        piece.waits = false;
        ++piece.round;
    }
    return true;
}

bool CollectiveAccess::moved(std::size_t k) {
    const Piece& piece = pieces_[k];
    if (!sent(3 * k)) return false;
    if (piece.runs.list().size() > runs_in_header && !sent(3 * k + 1)) return false;
    if (piece.bytes == 0) return true;
    return call_.write ? sent(3 * k + 2) : received(3 * lanes_ * members() + k);
}

// Which bytes of the stream lie in the window, and where.
void CollectiveAccess::describe(const Domains::Window& window, Piece& piece) {
    const Offset first = call_.position, last = first + Offset(bytes_);
    const Offset from = std::clamp(call_.view.position_of(window.begin), first, last);
    const Offset to = std::clamp(call_.view.position_of(window.end), first, last);
    TORUSMP_ASSERT(first <= from && from <= to && to <= last, first, from, to, last, window.begin,
                   window.end);
    piece.done = std::size_t(from - first);
    piece.bytes = std::size_t(to - from);
    piece.runs.clear();
    call_.view.for_each(from, piece.bytes, [&](Offset offset, std::size_t bytes) {
        piece.runs.add(offset - window.begin, Offset(bytes));
        return true;
    });
}

// The program's, or ours where that is scattered.
core::Buffer CollectiveAccess::memory_of(Piece& piece) {
    if (call_.buffer.layout == nullptr) return {call_.buffer.base + piece.done, piece.bytes};
    std::byte* const packed = piece.scratch.reserve(piece.bytes);
    if (call_.write) call_.buffer.pack(piece.done, packed, piece.bytes);
    return {packed, piece.bytes};
}

void CollectiveAccess::post(std::size_t k) {
    Piece& piece = pieces_[k];
    const Domains::Window window = domains_.window(int(k), piece.round);
    const Opening& own = openings_[std::size_t(group().member())];
    piece.posted = !is_own(k) && !window.empty() && overlaps(own, window);
    if (!piece.posted) return;
    describe(window, piece);
    const std::vector<Run>& runs = piece.runs.list();
    TORUSMP_ASSERT(piece.done + piece.bytes <= bytes_, piece.done, piece.bytes, bytes_, k);
    const std::size_t inside = std::min(runs.size(), runs_in_header);
    piece.header.runs = runs.size();
    piece.header.bytes = piece.bytes;
    std::copy_n(runs.data(), inside, piece.header.first);
    const core::Rank dest = group().rank_of(place_.aggregators[k / lanes_]);
    const std::size_t lane = k % lanes_;
    if (piece.bytes != 0 && !call_.write)
        receive(3 * lanes_ * members() + k, memory_of(piece), dest, answers(lane));
    send(3 * k, bytes_at(&piece.header, offsetof(Header, first) + inside * sizeof(Run)), dest,
         requests(lane));
    if (runs.size() > inside)
        send(3 * k + 1, bytes_at(runs.data() + inside, (runs.size() - inside) * sizeof(Run)), dest,
             requests(lane));
    if (piece.bytes != 0 && call_.write)
        send(3 * k + 2, memory_of(piece), dest, requests(lane));
}

// ---- an aggregator ----

// Returns true if all windows of a lane have been moved.
bool CollectiveAccess::aggregate(std::size_t l) {
    Lane& lane = own_lanes_[l];
    while (lane.round < domains_.rounds()) {
        if (failed()) return false;
        switch (lane.stage) {
            case Stage::ask:
                lane.window = domains_.window(int(share_of(l)), lane.round);
                ask_all(l);
                lane.stage = Stage::headers;
                break;
            case Stage::headers:
                if (!all_headers(l)) return false;
                lane.stage = Stage::runs;
                break;
            case Stage::runs:
                if (!all_runs(l)) return false;
                cover(l);
                if (call_.write)
                    exchange(l);
                else
                    access(l);
                lane.stage = call_.write ? Stage::data : Stage::access;
                break;
            case Stage::data:
                if (!all_data(l)) return false;
                if (call_.write) access(l);
                lane.stage = call_.write ? Stage::access : Stage::done;
                break;
            case Stage::access:
                if (!accessed(l)) return false;
                if (!call_.write) exchange(l);
                lane.stage = call_.write ? Stage::done : Stage::data;
                break;
            case Stage::done:
                ++lane.round;
                lane.stage = Stage::ask;
                break;
        }
    }
    return true;
}

void CollectiveAccess::ask_all(std::size_t l) {
    Lane& lane = own_lanes_[l];
    for (int member = 0; member < group().size(); ++member) {
        const auto i = std::size_t(member);
        Share& share = lane.shares[i];
        share.asked =
            member != group().member() && !lane.window.empty() && overlaps(openings_[i], lane.window);
        share.runs.clear();
        share.layout.reset();
        share.header.runs = share.header.bytes = 0;
        if (share.asked)
            receive(3 * request(l, i), bytes_at(&share.header, sizeof(Header)),
                    group().rank_of(member), requests(l));
    }
    const auto me = std::size_t(group().member());
    if (lane.window.empty() || !overlaps(openings_[me], lane.window)) return;
    Piece& own = pieces_[share_of(l)];
    describe(lane.window, own);
    lane.shares[me].runs = own.runs.list();
    lane.shares[me].header.bytes = own.bytes;
}

bool CollectiveAccess::all_headers(std::size_t l) {
    Lane& lane = own_lanes_[l];
    for (std::size_t i = 0; i < members(); ++i)
        if (lane.shares[i].asked && !received(3 * request(l, i))) return false;
    if (failed()) return false;
    for (std::size_t i = 0; i < members(); ++i) {
        Share& share = lane.shares[i];
        if (!share.asked) continue;
        if (share.header.runs > std::uint64_t(lane.window.bytes())) {
            break_off(core::Error::protocol, group().rank_of(int(i)));
            return false;
        }
        const std::size_t runs = share.header.runs, inside = std::min(runs, runs_in_header);
        share.runs.resize(runs);
        std::copy_n(share.header.first, inside, share.runs.data());
        if (runs > inside)
            receive(3 * request(l, i) + 1,
                    bytes_at(share.runs.data() + inside, (runs - inside) * sizeof(Run)),
                    group().rank_of(int(i)), requests(l));
    }
    return true;
}

bool CollectiveAccess::all_runs(std::size_t l) {
    Lane& lane = own_lanes_[l];
    for (std::size_t i = 0; i < members(); ++i)
        if (lane.shares[i].asked && lane.shares[i].runs.size() > runs_in_header &&
            !received(3 * request(l, i) + 1))
            return false;
    if (failed()) return false;
    for (int member = 0; member < group().size(); ++member)
        if (!lay_out(lane, member)) return false;
    return true;
}

// False: the member has said what cannot be.
bool CollectiveAccess::lay_out(Lane& lane, int member) {
    Share& share = lane.shares[std::size_t(member)];
    std::vector<core::Layout::Run> runs;
    runs.reserve(share.runs.size());
    std::int64_t bytes = 0;
    for (const Run& run : share.runs) {
        if (!run.fits(lane.window.bytes())) {
            break_off(core::Error::protocol, group().rank_of(member));
            return false;
        }
        runs.push_back({run.offset, std::size_t(run.bytes), std::size_t(run.count), run.stride});
        bytes += run.total();
    }
    if (std::uint64_t(bytes) != share.header.bytes) {
        break_off(core::Error::protocol, group().rank_of(member));
        return false;
    }
    if (bytes != 0) share.layout.emplace(runs);
    return true;
}

// The member's bytes in the window.
core::Buffer CollectiveAccess::part_of(std::size_t l, Share& share) {
    return {static_cast<void*>(memory_of_lane(l)), *share.layout};
}

void CollectiveAccess::cover(std::size_t l) {
    Lane& lane = own_lanes_[l];
    lane.coverage.reset(std::size_t(std::max<Offset>(lane.window.bytes(), 0)));
    for (const Share& share : lane.shares)
        for (const Run& run : share.runs) lane.coverage.mark(run);
}

void CollectiveAccess::exchange(std::size_t l) {
    Lane& lane = own_lanes_[l];
    serve_itself(l);
    for (std::size_t i = 0; i < members(); ++i) {
        Share& share = lane.shares[i];
        if (!share.asked || share.header.bytes == 0) continue;
        if (call_.write)
            receive(3 * request(l, i) + 2, part_of(l, share), group().rank_of(int(i)),
                    requests(l));
        else
            send(3 * pieces_.size() + request(l, i), part_of(l, share), group().rank_of(int(i)),
                 answers(l));
    }
}

bool CollectiveAccess::all_data(std::size_t l) {
    Lane& lane = own_lanes_[l];
    for (std::size_t i = 0; i < members(); ++i) {
        if (!lane.shares[i].asked || lane.shares[i].header.bytes == 0) continue;
        const std::size_t j = request(l, i);
        if (call_.write ? !received(3 * j + 2) : !sent(3 * pieces_.size() + j)) return false;
    }
    return !failed();
}

// Its own bytes need no message.
void CollectiveAccess::serve_itself(std::size_t l) {
    Lane& lane = own_lanes_[l];
    Share& share = lane.shares[std::size_t(group().member())];
    if (share.header.bytes == 0) return;
    Piece& own = pieces_[share_of(l)];
    const core::Buffer inside = part_of(l, share);
    if (call_.write) {
        inside.unpack(0, memory_of(own).base, own.bytes);
        return;
    }
    const core::Buffer outside = memory_of(own);
    inside.pack(0, outside.base, own.bytes);
    if (call_.buffer.layout != nullptr) call_.buffer.unpack(own.done, outside.base, own.bytes);
}

// Begins to move the window between memory and file: in the background if it is one long stretch
// and other lanes can go on meanwhile, else at once.
void CollectiveAccess::access(std::size_t l) {
    Lane& lane = own_lanes_[l];
    const std::size_t gap = call_.write || place_.hints.sieve_read == Choice::no ? 0
                            : place_.hints.sieve_read == Choice::yes ? domains_.longest()
                                                                     : gap_read;
    std::size_t stretches = 0, begin = 0, end = 0;
    if (lanes_ > 1 && error_ == 0 && place_.store != nullptr)
        lane.coverage.for_each(gap, [&](std::size_t from, std::size_t to) {
            begin = from;
            end = to;
            return ++stretches < 2;
        });
    if (stretches == 1 && end - begin >= place_.shortest_transfer) {
        lane.transfer.emplace(Transfer{call_.write, memory_of_lane(l) + begin, end - begin,
                                       lane.window.begin + Offset(begin)});
        place_.store->begin(*lane.transfer);
        return;
    }
    lane.coverage.for_each(gap, [&](std::size_t from, std::size_t to) {
        take(l, from, to, access_now(l, from, to));
        return error_ == 0 || !call_.write;
    });
}

bool CollectiveAccess::accessed(std::size_t l) {
    Lane& lane = own_lanes_[l];
    if (!lane.transfer) return true;
    if (!lane.transfer->over) return false;
    const auto from = std::size_t(lane.transfer->at - lane.window.begin);
    take(l, from, from + lane.transfer->bytes, lane.transfer->outcome);
    lane.transfer.reset();
    return true;
}

Outcome CollectiveAccess::access_now(std::size_t l, std::size_t from, std::size_t to) {
    if (place_.store == nullptr) return {0, EBADF};
    if (error_ != 0) return {};
    std::byte* const memory = memory_of_lane(l) + from;
    const Offset at = own_lanes_[l].window.begin + Offset(from);
    return call_.write ? place_.store->write(memory, to - from, at)
                       : place_.store->read(memory, to - from, at);
}

// What has become of a stretch. Bytes beyond the end of the file read as zeros, and are not counted.
void CollectiveAccess::take(std::size_t l, std::size_t from, std::size_t to,
                            const Outcome& outcome) {
    note(outcome.error);
    if (call_.write || outcome.bytes == to - from) return;
    std::memset(memory_of_lane(l) + from + outcome.bytes, 0, to - from - outcome.bytes);
    const Offset end = own_lanes_[l].window.begin + Offset(from + outcome.bytes);
    if (error_ == 0 && (met_end_ < 0 || end < met_end_)) met_end_ = end;
}

bool CollectiveAccess::transfers_under_way() const {
    return std::any_of(own_lanes_.begin(), own_lanes_.end(),
                       [](const Lane& lane) { return lane.transfer && !lane.transfer->over; });
}

void CollectiveAccess::await_work(bool all) {
    do place_.store->take_ended(transfers_under_way());
    while (all && transfers_under_way());
}

}  // namespace torusmp::io

// SPDX-License-Identifier: BSD-3-Clause
// The rounds of a collective access through aggregators. Requests are numbered: a member sends
// header, list and contents to aggregator k as 3k, 3k + 1 and 3k + 2, and receives contents from it
// as 3 * members + k; an aggregator receives from member i as 3i, 3i + 1, 3i + 2, and sends to it
// as 3 * targets + i.
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
    // Either side may let the other go on.
    const bool served = own_share_ < 0 || aggregate();
    const bool sent = client();
    return served && sent;
}

// ---- a member ----

bool CollectiveAccess::client() {
    while (client_round_ < domains_.rounds()) {
        for (std::size_t k = 0; client_waits_ && k < targets(); ++k) {
            Piece& piece = pieces_[k];
            if (!piece.posted) continue;
            if (!sent(3 * k)) return false;
            if (piece.runs.list().size() > runs_in_header && !sent(3 * k + 1)) return false;
            if (piece.bytes == 0) continue;
            if (call_.write ? !sent(3 * k + 2) : !received(3 * members() + k)) return false;
        }
        if (failed()) return false;
        if (!client_waits_) {
            for (std::size_t k = 0; k < targets(); ++k) post(int(k));
            client_waits_ = true;
            continue;
        }
        for (Piece& piece : pieces_)
            if (piece.posted && !call_.write && call_.buffer.layout != nullptr)
                call_.buffer.unpack(piece.done, piece.scratch.reserve(piece.bytes), piece.bytes);
        client_waits_ = false;
        ++client_round_;
    }
    return true;
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

void CollectiveAccess::post(int aggregator) {
    const auto k = std::size_t(aggregator);
    Piece& piece = pieces_[k];
    const Domains::Window window = domains_.window(aggregator, client_round_);
    const Opening& own = openings_[std::size_t(group().member())];
    piece.posted = aggregator != own_share_ && !window.empty() && overlaps(own, window);
    if (!piece.posted) return;
    describe(window, piece);
    const std::vector<Run>& runs = piece.runs.list();
    TORUSMP_ASSERT(piece.done + piece.bytes <= bytes_, piece.done, piece.bytes, bytes_, aggregator);
    const std::size_t inside = std::min(runs.size(), runs_in_header);
    piece.header.runs = runs.size();
    piece.header.bytes = piece.bytes;
    std::copy_n(runs.data(), inside, piece.header.first);
    const core::Rank dest = group().rank_of(place_.aggregators[k]);
    if (piece.bytes != 0 && !call_.write)
        receive(3 * members() + k, memory_of(piece), dest, contents);
    send(3 * k, bytes_at(&piece.header, offsetof(Header, first) + inside * sizeof(Run)), dest,
         headers);
    if (runs.size() > inside)
        send(3 * k + 1, bytes_at(runs.data() + inside, (runs.size() - inside) * sizeof(Run)), dest,
             lists);
    if (piece.bytes != 0 && call_.write) send(3 * k + 2, memory_of(piece), dest, contents);
}

// ---- an aggregator ----

bool CollectiveAccess::aggregate() {
    while (round_ < domains_.rounds()) {
        if (failed()) return false;
        switch (stage_) {
            case Stage::ask:
                window_ = domains_.window(own_share_, round_);
                ask_all();
                stage_ = Stage::headers;
                break;
            case Stage::headers:
                if (!all_headers()) return false;
                stage_ = Stage::runs;
                break;
            case Stage::runs:
                if (!all_runs()) return false;
                exchange();
                stage_ = Stage::data;
                break;
            case Stage::data:
                if (!all_data()) return false;
                if (call_.write) write_window();
                stage_ = Stage::done;
                break;
            case Stage::done:
                ++round_;
                stage_ = Stage::ask;
                break;
        }
    }
    return true;
}

void CollectiveAccess::ask_all() {
    for (int member = 0; member < group().size(); ++member) {
        const auto i = std::size_t(member);
        Share& share = shares_[i];
        share.asked =
            member != group().member() && !window_.empty() && overlaps(openings_[i], window_);
        share.runs.clear();
        share.layout.reset();
        share.header.runs = share.header.bytes = 0;
        if (share.asked)
            receive(3 * i, bytes_at(&share.header, sizeof(Header)), group().rank_of(member),
                    headers);
    }
    const auto me = std::size_t(group().member());
    if (window_.empty() || !overlaps(openings_[me], window_)) return;
    Piece& own = pieces_[std::size_t(own_share_)];
    describe(window_, own);
    shares_[me].runs = own.runs.list();
    shares_[me].header.bytes = own.bytes;
}

bool CollectiveAccess::all_headers() {
    for (std::size_t i = 0; i < members(); ++i)
        if (shares_[i].asked && !received(3 * i)) return false;
    if (failed()) return false;
    for (std::size_t i = 0; i < members(); ++i) {
        Share& share = shares_[i];
        if (!share.asked) continue;
        if (share.header.runs > std::uint64_t(window_.bytes())) {
            break_off(core::Error::protocol, group().rank_of(int(i)));
            return false;
        }
        const std::size_t runs = share.header.runs, inside = std::min(runs, runs_in_header);
        share.runs.resize(runs);
        std::copy_n(share.header.first, inside, share.runs.data());
        if (runs > inside)
            receive(3 * i + 1, bytes_at(share.runs.data() + inside, (runs - inside) * sizeof(Run)),
                    group().rank_of(int(i)), lists);
    }
    return true;
}

bool CollectiveAccess::all_runs() {
    for (std::size_t i = 0; i < members(); ++i)
        if (shares_[i].asked && shares_[i].runs.size() > runs_in_header && !received(3 * i + 1))
            return false;
    if (failed()) return false;
    for (int member = 0; member < group().size(); ++member)
        if (!lay_out(member)) return false;
    return true;
}

// False: the member has said what cannot be.
bool CollectiveAccess::lay_out(int member) {
    Share& share = shares_[std::size_t(member)];
    std::vector<core::Layout::Run> runs;
    runs.reserve(share.runs.size());
    std::int64_t bytes = 0;
    for (const Run& run : share.runs) {
        if (!run.fits(window_.bytes())) {
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
core::Buffer CollectiveAccess::part_of(Share& share) {
    return {static_cast<void*>(memory_.reserve(domains_.longest())), *share.layout};
}

void CollectiveAccess::exchange() {
    coverage_.reset(std::size_t(std::max<Offset>(window_.bytes(), 0)));
    for (const Share& share : shares_)
        for (const Run& run : share.runs) coverage_.mark(run);
    if (!call_.write) read_window();
    serve_itself();
    for (std::size_t i = 0; i < members(); ++i) {
        Share& share = shares_[i];
        if (!share.asked || share.header.bytes == 0) continue;
        if (call_.write)
            receive(3 * i + 2, part_of(share), group().rank_of(int(i)), contents);
        else
            send(3 * targets() + i, part_of(share), group().rank_of(int(i)), contents);
    }
}

bool CollectiveAccess::all_data() {
    for (std::size_t i = 0; i < members(); ++i) {
        if (!shares_[i].asked || shares_[i].header.bytes == 0) continue;
        if (call_.write ? !received(3 * i + 2) : !sent(3 * targets() + i)) return false;
    }
    return !failed();
}

// Its own bytes need no message.
void CollectiveAccess::serve_itself() {
    Share& share = shares_[std::size_t(group().member())];
    if (share.header.bytes == 0) return;
    Piece& own = pieces_[std::size_t(own_share_)];
    const core::Buffer inside = part_of(share);
    if (call_.write) {
        inside.unpack(0, memory_of(own).base, own.bytes);
        return;
    }
    const core::Buffer outside = memory_of(own);
    inside.pack(0, outside.base, own.bytes);
    if (call_.buffer.layout != nullptr) call_.buffer.unpack(own.done, outside.base, own.bytes);
}

void CollectiveAccess::write_window() {
    if (place_.store == nullptr) return note(EBADF);
    const std::byte* const memory = memory_.reserve(domains_.longest());
    coverage_.for_each(0, [&](std::size_t from, std::size_t to) {
        if (error_ != 0) return false;
        note(place_.store->write(memory + from, to - from, window_.begin + Offset(from)).error);
        return error_ == 0;
    });
}

// What is not there reads as zeros, and is not counted.
void CollectiveAccess::read_window() {
    std::byte* const memory = memory_.reserve(domains_.longest());
    const std::size_t gap = place_.hints.sieve_read == Choice::yes  ? domains_.longest()
                            : place_.hints.sieve_read == Choice::no ? 0
                                                                    : gap_read;
    coverage_.for_each(gap, [&](std::size_t from, std::size_t to) {
        Outcome got;
        if (place_.store == nullptr)
            got.error = EBADF;
        else if (error_ == 0)
            got = place_.store->read(memory + from, to - from, window_.begin + Offset(from));
        note(got.error);
        if (got.bytes == to - from) return true;
        std::memset(memory + from + got.bytes, 0, to - from - got.bytes);
        const Offset end = window_.begin + Offset(from + got.bytes);
        if (error_ == 0 && (met_end_ < 0 || end < met_end_)) met_end_ = end;
        return true;
    });
}

}  // namespace torusmp::io

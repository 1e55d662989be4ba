// SPDX-License-Identifier: BSD-3-Clause
#include "core/match/unexpected_store.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.h"
#include "base/trace.h"
#include "core/match/matching.h"
#include "core/settings.h"

namespace torusmp::core {
namespace {

// The heap keeps smaller amounts, to avoid frequent system calls.
constexpr std::size_t worth_returning = std::size_t{16} << 20;  // bytes

// The memory of a message, with its places in the tables and the overhead of the heap.
std::size_t taken_by(std::size_t size) {
    constexpr std::size_t heap = 16;  // bytes a block
    return Pool::rounded(size) + heap + Matching::room_for_unexpected;
}

}  // namespace

UnexpectedStore::UnexpectedStore(Commons& commons, Connections& connections, PacketSender& sender)
    : commons_(commons),
      connections_(connections),
      sender_(sender),
      limit_(commons.options.value(setting::unexpected)) {}

inline Unexpected& UnexpectedStore::add(Peer& from, Context context, Tag tag,
                                        transport::ConstBytes behind, bool is_request) {
    const std::size_t size = sizeof(Unexpected) + behind.size();
    auto* const message = ::new (commons_.pool.take(size)) Unexpected{};
    message->context = context;
    message->source = from.rank;
    message->tag = tag;
    message->is_request = is_request;
    message->bytes = behind.size();
    if (!behind.empty()) std::memcpy(message->payload(), behind.data(), behind.size());
    const std::size_t taken = taken_by(size);
    from.unexpected += taken;
    bytes_ += taken;
    if (bytes_ > limit_ && !from.holds) hold(from);
    return *message;
}

Unexpected& UnexpectedStore::keep(Peer& from, Context context, Tag tag,
                                  transport::ConstBytes payload) {
    return add(from, context, tag, payload, false);
}

Unexpected& UnexpectedStore::keep(Peer& from, Context context, Tag tag, const RtsBody& request) {
    Unexpected& message = add(from, context, tag, std::as_bytes(std::span(&request, 1)), true);
    message.bytes = std::size_t(request.bytes);
    return message;
}

void UnexpectedStore::give_back(Unexpected& message) {
    Peer& from = connections_.peer(message.source);
    const std::size_t size = message.size();
    const std::size_t taken = taken_by(size);
    TORUSMP_ASSERT(from.unexpected >= taken && bytes_ >= from.unexpected, commons_.rank(),
                   from.rank, from.unexpected, bytes_, taken);
    commons_.pool.give(&message, size);
    most_ = std::max(most_, bytes_);
    from.unexpected -= taken;
    bytes_ -= taken;
    if (!holding_.empty()) go_on(from);
    if (most_ >= worth_returning && bytes_ <= most_ / 8) return_memory();
}

void UnexpectedStore::hold(Peer& peer) {
    if (peer.rank == commons_.rank() || peer.dead) return;
    TORUSMP_ASSERT(std::count(holding_.begin(), holding_.end(), peer.rank) == 0, commons_.rank(),
                   peer.rank, holding_.size());
    TORUSMP_TRACE(message, info, commons_.rank(),
                  "asks rank {} to hold its messages: {} B of unexpected ones are here", peer.rank,
                  bytes_);
    peer.holds = true;
    holding_.push_back(peer.rank);
    sender_.send(peer, PacketKind::hold, HoldBody{1, 0});
    if (commons_.options.on_hold) commons_.options.on_hold(peer.rank, bytes_, limit_);
}

// A source without messages here goes on, however many others have left, so one that floods the
// rank does not delay the rest.
void UnexpectedStore::go_on(Peer& peer) {
    const auto release = [&](Rank rank) {
        TORUSMP_ASSERT(connections_.peer(rank).holds, commons_.rank(), rank, bytes_, limit_);
        connections_.peer(rank).holds = false;
        sender_.send(connections_.peer(rank), PacketKind::hold, HoldBody{0, 0});
    };
    if (bytes_ <= limit_ / 2) {
        for (const Rank rank : std::exchange(holding_, {})) release(rank);
    } else if (peer.holds && peer.unexpected == 0) {
        std::erase(holding_, peer.rank);
        release(peer.rank);
    }
}

// Freed blocks lie between used ones, where the heap does not return them by itself.
void UnexpectedStore::return_memory() {
    most_ = bytes_;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

bool UnexpectedStore::on_hold(Peer& peer, const transport::PacketHeader& header,
                              const std::byte* payload) {
    HoldBody body;
    if (!read_body(header, payload, body)) return false;
    peer.holds_from = body.hold != 0 ? 0 : commons_.options.first_large();
    return true;
}

void UnexpectedStore::report(Waits& waits) const {
    if (holding_.empty()) return;
    waits.notes.push_back(fmt::format(
        "unexpected messages use {} bytes (transport.unexpected is {}): {} ranks keep further "
        "messages until a receive asks for them, {} first",
        bytes_, limit_, holding_.size(), commons_.name_of(holding_.front())));
}

}  // namespace torusmp::core

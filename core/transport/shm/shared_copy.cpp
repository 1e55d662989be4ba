// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/shm/shared_copy.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/pause.h"
#include "core/transport/shm/cross_memory.h"

namespace torusmp::transport::shm {
namespace {

// A piece takes about 10 us at most. Shorter ones cost more calls of the kernel.
constexpr std::size_t longest_piece = std::size_t{256} << 10;
constexpr std::size_t longest_plain_piece = std::size_t{128} << 10;
constexpr std::uint32_t most_pieces_at_once = 4;
// Turns of the wait for the end of the other rank's piece, about 100 us.
constexpr int most_turns = 2000;

std::uint32_t pieces_in(std::uint64_t left) {
    return std::uint32_t(left);
}

std::uint32_t pieces_of(const Move& move, std::uint64_t piece) {
    return std::uint32_t((move.bytes + piece - 1) / piece);
}

Bytes at_address(std::uint64_t address, std::uint64_t bytes) {
    return {reinterpret_cast<std::byte*>(address), bytes};
}

Transfer copy(const Move& move, std::uint64_t at, std::uint64_t bytes,
              const BothMemories& memories) {
    const Bytes own = at_address(move.own() + at, bytes);
    const std::uint64_t others = move.others() + at;
    const ConstBytes from = own;
    if (std::byte* const there = memories.mapped(others, bytes)) {
        move.inward ? std::memcpy(own.data(), there, bytes) : std::memcpy(there, own.data(), bytes);
        return Transfer::done;
    }
    return move.inward ? copy_from(memories.other, others, {&own, 1})
                       : copy_to(memories.other, others, {&from, 1});
}

}  // namespace

std::byte* BothMemories::mapped(std::uint64_t address, std::uint64_t bytes) const {
    if (!lies_in(address, bytes, other_address, other_heap.size())) return nullptr;
    return other_heap.data() + (address - other_address);
}

bool BothMemories::is_plain(std::uint64_t own, std::uint64_t others, std::uint64_t bytes) const {
    return lies_in(at_address(own, bytes), own_heap) && mapped(others, bytes) != nullptr;
}

void SharedCopy::begin(const Move& move) {
    TORUSMP_ASSERT(!busy() && pieces_in(plan_->left.load()) == 0, memories_.other, move.bytes);
    move_ = move;
    refused_ = false;
    const bool plain = memories_.is_plain(move.own(), move.others(), move.bytes);
    const std::uint64_t piece =
        std::min<std::uint64_t>(plain ? longest_plain_piece : longest_piece, (move.bytes + 1) / 2);
    plan_->from.store(move.from, std::memory_order_relaxed);
    plan_->to.store(move.to, std::memory_order_relaxed);
    plan_->bytes.store(move.bytes, std::memory_order_relaxed);
    plan_->piece.store(piece, std::memory_order_relaxed);
    plan_->inward.store(move.inward ? 1 : 0, std::memory_order_relaxed);
    plan_->ended.store(0, std::memory_order_relaxed);
    plan_->refused.store(0, std::memory_order_relaxed);
    plan_->left.store(++number_ * number_unit + pieces_of(move, piece), std::memory_order_release);
}

Transfer SharedCopy::finish(std::uint64_t cookie) {
    const std::uint64_t piece = plan_->piece.load(std::memory_order_relaxed);
    const std::uint32_t pieces = pieces_of(move_, piece);
    std::uint32_t ours = 0;
    std::uint64_t left = plan_->left.load(std::memory_order_relaxed);
    while (pieces_in(left) != 0) {
        // If nobody has helped so far, fewer calls of the kernel are better.
        const bool alone = ours != 0 && ours + pieces_in(left) == pieces;
        const std::uint32_t most = refused_ ? pieces : alone ? most_pieces_at_once : 1;
        const std::uint32_t taken = std::min(most, pieces_in(left));
        if (!plan_->left.compare_exchange_weak(left, left - taken, std::memory_order_acq_rel))
            continue;
        const std::uint64_t at = (pieces - pieces_in(left)) * piece;
        left -= taken;
        ours += taken;
        if (refused_) continue;
        const std::uint64_t bytes = std::min(taken * piece, move_.bytes - at);
        refused_ = copy(move_, at, bytes, memories_) != Transfer::done;
        left = plan_->left.load(std::memory_order_relaxed);
    }
    by_other_ = pieces - ours;
    for (int turn = 0; !ended_by_other(); ++turn) {
        if (turn == most_turns) {
            cookie_ = cookie;
            return Transfer::pending;
        }
        base::pause();
    }
    return result();
}

bool SharedCopy::ended_by_other() const {
    return plan_->ended.load(std::memory_order_acquire) == by_other_;
}

Transfer SharedCopy::result() const {
    if (refused_) return Transfer::refused;
    if (plan_->refused.load(std::memory_order_relaxed) == 0) return Transfer::done;
    return copy(move_, 0, move_.bytes, memories_);
}

std::optional<SharedCopy::Result> SharedCopy::poll() {
    if (!busy() || !ended_by_other()) return std::nullopt;
    const Result ended{*cookie_, result() == Transfer::done};
    cookie_.reset();
    return ended;
}

void help(CopyPlan& plan, const BothMemories& memories) {
    std::uint64_t left = plan.left.load(std::memory_order_acquire);
    while (pieces_in(left) != 0) {
        // The plan of the copy whose number is in `left`, if the exchange succeeds.
        const Move move{plan.from.load(std::memory_order_relaxed),
                        plan.to.load(std::memory_order_relaxed),
                        plan.bytes.load(std::memory_order_relaxed),
                        plan.inward.load(std::memory_order_relaxed) == 0};
        const std::uint64_t piece = plan.piece.load(std::memory_order_relaxed);
        if (!plan.left.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel,
                                             std::memory_order_acquire))
            continue;
        const std::uint64_t at = (pieces_of(move, piece) - pieces_in(left)) * piece;
        if (at >= move.bytes ||
            copy(move, at, std::min(piece, move.bytes - at), memories) != Transfer::done)
            plan.refused.store(1, std::memory_order_relaxed);
        plan.ended.fetch_add(1, std::memory_order_release);
        left = plan.left.load(std::memory_order_acquire);
    }
}

}  // namespace torusmp::transport::shm

// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithm/block_moves.h"

#include <cstring>

#include "collectives/group/bundles.h"

namespace torusmp::collectives {

void BlockMoves::use_blocks(std::byte* base, const Blocks& blocks, const std::byte* own) {
    base_ = base;
    own_ = own;
    blocks_ = blocks;
    own_message_from_ = group().runtime().options().eager_limit;
    arrivals_.clear();
}

std::size_t BlockMoves::bytes_of(Places places) const {
    if (blocks_.is_even()) return blocks_.size(0) * std::size_t(places.count());
    std::size_t bytes = 0;
    for (int i = 0; i < places.count(); ++i) bytes += blocks_.size(group().member_at(places[i]));
    return bytes;
}

std::size_t BlockMoves::small_bytes(Places places) const {
    if (blocks_.is_even()) return small(blocks_.size(0)) ? bytes_of(places) : 0;
    std::size_t bytes = 0;
    for (int i = 0; i < places.count(); ++i) {
        const std::size_t size = blocks_.size(group().member_at(places[i]));
        if (small(size)) bytes += size;
    }
    return bytes;
}

// Address of the small blocks if they are contiguous in the order of the list, so that no copy is
// needed; otherwise null.
std::byte* BlockMoves::together(Places places) const {
    std::byte* front = nullptr;
    std::byte* end = nullptr;
    for (int i = 0; i < places.count(); ++i) {
        const int member = group().member_at(places[i]);
        const std::size_t bytes = blocks_.size(member);
        if (bytes == 0 || !small(bytes)) continue;
        if (front == nullptr) front = end = block(member);
        if (block(member) != end) return nullptr;
        end += bytes;
    }
    return front;
}

void BlockMoves::begin_batch(std::size_t bytes) {
    arrivals_.clear();
    free_ = scratch_.reserve(bytes);
}

void BlockMoves::begin_bundles(int step) {
    const Bundles& bundles = group().routes().bundles();
    std::size_t bytes = 0;
    for (const auto direction : bundles.directions())
        bytes += bytes_of(bundles.in(step, direction)) + bytes_of(bundles.out(step, direction));
    begin_batch(bytes);
}

std::byte* BlockMoves::take_scratch(std::size_t bytes) {
    std::byte* memory = free_;
    free_ += bytes;
    return memory;
}

void BlockMoves::send_to(Way to, const std::byte* memory, std::size_t bytes) {
    if (to.by)
        send_by(*to.by, {memory, bytes});
    else
        send({memory, bytes}, to.rank);
}

BlockMoves::Load BlockMoves::load(Places places) {
    const std::size_t bytes = small_bytes(places);
    std::byte* memory = together(places);
    if (bytes == 0 || memory != nullptr) return {places, memory, bytes};
    memory = take_scratch(bytes);
    std::byte* next = memory;
    for (int i = 0; i < places.count(); ++i) {
        const int member = group().member_at(places[i]);
        const std::size_t size = blocks_.size(member);
        if (size == 0 || !small(size)) continue;
        std::memcpy(next, block(member), size);
        next += size;
    }
    return {places, memory, bytes};
}

void BlockMoves::send_load(const Load& load, Way to) {
    if (load.bytes > 0) send_to(to, load.small, load.bytes);
    for (int i = 0; i < load.places.count(); ++i) {
        const int member = group().member_at(load.places[i]);
        const std::size_t bytes = blocks_.size(member);
        if (small(bytes)) continue;
        const bool own = own_ != nullptr && member == group().member();
        send_to(to, own ? own_ : block(member), bytes);
    }
}

void BlockMoves::receive_blocks(Places places, Way from) {
    if (const std::size_t bytes = small_bytes(places); bytes > 0) {
        std::byte* memory = together(places);
        if (memory == nullptr) {
            memory = take_scratch(bytes);
            arrivals_.push_back({places, memory, bytes, false});
        }
        receive({memory, bytes}, from.rank);
    }
    for (int i = 0; i < places.count(); ++i) {
        const int member = group().member_at(places[i]);
        if (!small(blocks_.size(member))) receive({block(member), blocks_.size(member)}, from.rank);
    }
}

void BlockMoves::receive_apart(Places places, Way from) {
    const std::size_t bytes = small_bytes(places);
    std::byte* memory = take_scratch(bytes_of(places));
    arrivals_.push_back({places, memory, bytes, true});
    if (bytes > 0) receive({memory, bytes}, from.rank);
    memory += bytes;
    for (int i = 0; i < places.count(); ++i) {
        const std::size_t size = blocks_.size(group().member_at(places[i]));
        if (small(size)) continue;
        receive({memory, size}, from.rank);
        memory += size;
    }
}

void BlockMoves::put_away() {
    for (const Arrival& arrival : arrivals_)
        each_of(arrival, [&](int member, std::byte* at) {
            std::memcpy(block(member), at, blocks_.size(member));
        });
    arrivals_.clear();
}

}  // namespace torusmp::collectives

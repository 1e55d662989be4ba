// SPDX-License-Identifier: BSD-3-Clause
// Moves the blocks of many members together: all blocks of one list that go to the same member
// travel as one message, so a step costs one message per link, however many blocks it moves.
//
// Both ends know the list and the sizes, so messages carry only the blocks. Small blocks are
// packed; blocks of at least the eager limit are separate messages, received in place.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "collectives/algorithm/algorithm.h"
#include "collectives/schedule/blocks.h"

namespace torusmp::collectives {

// A set of places: a list kept by the caller, or a range.
class Places {
  public:
    Places(std::span<const int> list) : list_(list.data()), count_(int(list.size())) {}
    Places(int first, int count) : first_(first), count_(count) {}
    int count() const { return count_; }
    int operator[](int i) const { return list_ != nullptr ? list_[i] : first_ + i; }

  private:
    const int* list_ = nullptr;
    int first_ = 0;
    int count_;
};

class BlockMoves : public Algorithm {
  protected:
    explicit BlockMoves(Messages& messages) : Algorithm(messages) {}

    // Sets the blocks to move and their memory; the caller keeps both until the call is complete.
    // `own` is another copy of this member's block, from which it is sent if it is large, or null.
    void use_blocks(std::byte* base, const Blocks& blocks, const std::byte* own = nullptr);
    // The blocks have moved to another address; blocks received apart stay.
    void move_blocks(std::byte* base) { base_ = base; }
    std::byte* block(int member) const { return base_ + blocks_.offset(member); }
    const Blocks& blocks() const { return blocks_; }
    std::size_t bytes_of(Places places) const;

    // A member, and the link to it if it is a neighbour.
    struct Way {
        Rank rank;
        std::optional<routing::Direction> by{};
    };
    Way by(routing::Direction direction) const { return {group().neighbour(direction), direction}; }
    Way to_place(int place) const { return {group().rank_of(group().member_at(place))}; }

    // The places with this member's coordinates before the dimension, this coordinate in it, and
    // any coordinates after it: a range.
    Places slab(int dimension, int coordinate) const {
        const int places = group().stride(dimension);
        const int first = group().place() / places * places;
        return {first + (coordinate - group().coordinate(dimension)) * places, places};
    }

    // Clears the last batch and reserves this many bytes of scratch memory for the next one.
    void begin_batch(std::size_t bytes);
    // Begins a batch for all bundles (bundles.h) that are sent and received in a step.
    void begin_bundles(int step);
    void send_blocks(Places places, Way to) { send_load(load(places), to); }
    // Blocks that go to several members and are packed once.
    struct Load {
        Places places;
        std::byte* small;
        std::size_t bytes;
    };
    Load load(Places places);
    void send_load(const Load& load, Way to);
    // The blocks are in place after put_away() has been called for the batch.
    void receive_blocks(Places places, Way from);
    void put_away();
    // The blocks stay in scratch memory until each_received() uses them.
    void receive_apart(Places places, Way from);
    // Calls use(member, memory of its block) for every block that stayed in scratch memory, in the
    // order posted.
    template <class Use>
    void each_received(Use&& use) const {
        for (const Arrival& arrival : arrivals_)
            each_of(arrival, [&](int member, std::byte* at) { use(member, at); });
    }

  private:
    struct Arrival {
        Places places;
        std::byte* at;  // small blocks in the order of the list, then the others
        std::size_t small;
        bool apart;
    };
    bool small(std::size_t bytes) const { return bytes < own_message_from_; }
    std::size_t small_bytes(Places places) const;
    std::byte* together(Places places) const;
    template <class Use>
    void each_of(const Arrival& arrival, Use&& use) const;
    void send_to(Way to, const std::byte* memory, std::size_t bytes);
    std::byte* take_scratch(std::size_t bytes);

    std::byte* base_ = nullptr;
    const std::byte* own_ = nullptr;
    Blocks blocks_;
    std::size_t own_message_from_ = 0;
    Scratch scratch_;
    std::byte* free_ = nullptr;
    std::vector<Arrival> arrivals_;
};

template <class Use>
void BlockMoves::each_of(const Arrival& arrival, Use&& use) const {
    std::byte* next_small = arrival.at;
    std::byte* next_large = arrival.at + arrival.small;
    for (int i = 0; i < arrival.places.count(); ++i) {
        const int member = group().member_at(arrival.places[i]);
        const std::size_t bytes = blocks_.size(member);
        std::byte*& next = small(bytes) ? next_small : next_large;
        if (bytes > 0 && (arrival.apart || small(bytes))) use(member, next);
        next += bytes;
    }
}

}  // namespace torusmp::collectives

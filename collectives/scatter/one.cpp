// SPDX-License-Identifier: BSD-3-Clause
// The baseline of the paper: the root sends one message in each step, in member order, and the next
// rank on the path, shortest direction first, forwards it. The root continues when that rank
// confirms that it has the message, so a step takes as long as a message takes over a cable.
//
// Long blocks are split into pieces. A piece shorter than the maximum ends its block, so only the
// root and the receiver need to know the length of the block.
#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/algorithm/apart_blocks.h"
#include "collectives/scatter/scatter.h"

namespace torusmp::collectives::scatter {
namespace {

constexpr std::size_t one_piece = std::size_t(64) << 10;

class One final : public AlgorithmOf<Arguments, ApartBlocks> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        expect(Fit::at_most);
        begin_blocks();
        use_requests(0, 0);
        members_.clear();
        at_ = taken_ = 0;
        receiving_ = false;
        root_ = group().place_of(call_.root);
        const bool at_root = group().place() == root_;
        if (at_root && !call_.keep_own_block()) cut_short(call_.root);
        for (int member = 0; member < group().size(); ++member) {
            const int place = group().place_of(member);
            if (place != root_ && (at_root || next_place(place) == group().place()))
                members_.push_back(member);
        }
        // A member that forwards nothing takes its own block from the neighbour of the root.
        if (!at_root && members_.empty()) members_.push_back(group().member());
    }

  private:
    // The first place on the path from the root.
    int next_place(int place) const { return group().torus().next_hop(root_, place)->rank; }
    core::Rank next_to(int member) const {
        return group().rank_of(group().member_at(next_place(group().place_of(member))));
    }

    bool step() override {
        if (at_ == members_.size()) return !end_well();
        return group().place() == root_ ? send_piece() : take_piece();
    }

    bool send_piece() {
        const int member = members_[at_];
        const core::Buffer block = call_.block_of(member);
        const std::size_t bytes = std::min(one_piece, block.bytes - taken_);
        send(core::Buffer{block.base + taken_, bytes}, next_to(member));
        receive(core::Buffer{&word_, 0}, next_to(member));
        advance(bytes);
        return true;
    }

    bool take_piece() {
        const core::Rank own = group().rank_of(group().member());
        const core::Rank from = next_to(group().member()) == own ? group().rank_of(call_.root)
                                                                 : next_to(group().member());
        if (!receiving_) {
            receiving_ = true;
            receive(core::Buffer{scratch_.reserve(one_piece), one_piece}, from);
            return true;
        }
        receiving_ = false;
        const std::size_t bytes = bytes_received(0);
        const int member = members_[at_];
        if (from == group().rank_of(call_.root)) send(core::Buffer{&word_, 0}, from);
        if (member != group().member())
            send(core::Buffer{scratch_.reserve(one_piece), bytes}, group().rank_of(member));
        else
            keep(bytes);
        advance(bytes);
        return true;
    }

    void keep(std::size_t bytes) {
        if (taken_ + bytes > call_.in_bytes)
            cut_short(call_.root);
        else if (bytes != 0)
            std::memcpy(call_.in + taken_, scratch_.reserve(one_piece), bytes);
    }

    void advance(std::size_t bytes) {
        taken_ += bytes;
        if (bytes == one_piece) return;
        taken_ = 0;
        ++at_;
    }

    int root_ = 0;              // its place
    std::vector<int> members_;  // members whose blocks pass through here, in the order of the root
    std::size_t at_ = 0;        // index in `members_`
    std::size_t taken_ = 0;     // bytes of the current member's block
    bool receiving_ = false;
    std::byte word_{};
    Scratch scratch_;
};

}  // namespace

extern AlgorithmMaker<Arguments> one = make_algorithm<One>;

}  // namespace torusmp::collectives::scatter

// SPDX-License-Identifier: BSD-3-Clause
// The root leaves small blocks in the area, where each member reads its own. It sends larger
// blocks, and those that are sooner read from messages, and notes this in the area, since the
// others do not know their lengths.
#include <algorithm>
#include <utility>

#include "collectives/algorithm/through_area.h"
#include "collectives/scatter/scatter.h"

namespace torusmp::collectives::scatter {
namespace {

// Stamp value of the root: the distance between blocks, which is also their length unless each
// block is preceded by its own (uneven); or the note that it sends them (sends).
constexpr std::uint64_t uneven = std::uint64_t{1} << 32;
constexpr std::size_t length_bytes = 16;  // keeps blocks aligned

class ByArea final : public AlgorithmOf<Arguments, ThroughArea> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        begin_call(Kind::scatter, call_.root);
        expect(Fit::at_most);
        posted_ = 0;
        cut_short_ = false;
        kept_ = false;
    }

  private:
    bool move() override {
        if (!(member() == call_.root ? give() : take()) || failed()) return false;
        if (cut_short_) fail(core::Error::truncated, group().rank_of(member()));
        return !failed();
    }

    bool give() {
        if (!has_left() && !leave_blocks()) return false;
        // Now, because the others wait for their blocks.
        if (!std::exchange(kept_, true)) cut_short_ = !call_.keep_own_block();
        for (std::size_t i = 0; i < posted_; ++i)
            if (!sent(i)) return false;
        return transfers_ended();
    }
    bool leave_blocks() {
        const Blocks& blocks = call_.out_blocks;
        const std::size_t others = std::size_t(size() - 1);
        std::size_t stride = blocks.size(call_.root == 0 ? 1 : 0);
        std::uint64_t word = stride;
        if (!blocks.is_even()) {
            for (int to = 0; to < size(); ++to)
                if (to != call_.root) stride = std::max(stride, blocks.size(to));
            stride = length_bytes + Scratch::rounded(stride);
            word = stride | uneven;
        }
        if (blocks.is_even() && lends(Area::all, stride * others, stride) &&
            lend(Area::all, stride, {{call_.out, stride * std::size_t(size())}}))
            return is_only_root(stride * others);
        const bool fits = !sends_halves(stride) && stride <= most_left() / others &&
                          !messages_pay(Area::all, stride * others, 1, stride);
        std::byte* at = claim_for_all(fits ? stride * others : 0);
        if (at == nullptr) return false;
        if (!fits) {
            send_blocks();
            word = sends;
        }
        for (int to = 0; fits && to < size(); ++to) {
            if (to == call_.root) continue;
            const std::size_t bytes = blocks.size(to);
            std::byte* block = at;
            if (!blocks.is_even()) {
                std::memcpy(block, &bytes, sizeof bytes);
                block += length_bytes;
            }
            copy_into(block, call_.out + blocks.offset(to), bytes);
            at += stride;
        }
        leave_for_all(word);
        return is_only_root(fits ? stride * others : 0);
    }
    bool sends_halves(std::size_t bytes) const {
        return halves_pay(bytes) && is_within_reach(call_.out, call_.out_blocks.total(size()));
    }
    void send_blocks() {
        use_requests(std::size_t(size()), 0);
        for (int to = 0; to < size(); ++to)
            if (to != call_.root) send(posted_++, call_.block_of(to), group().rank_of(to));
        use_requests(posted_, 0);
    }

    bool take() {
        if (posted_ != 0) return take_message();
        const auto said = said_by(call_.root);
        if (!said) return false;
        if (*said == sends) {
            use_requests(0, posted_ = 1);
            receive(0, {call_.in, call_.in_bytes}, group().rank_of(call_.root));
            return take_message();
        }
        const std::size_t stride = *said & (uneven - 1);
        if ((*said & lent) != 0) return take_lent(stride);
        const int index = member() < call_.root ? member() : member() - 1;
        const std::byte* block =
            contents_of(call_.root, stride * std::size_t(size() - 1)) + stride * std::size_t(index);
        std::size_t bytes = stride;
        if ((*said & uneven) != 0) {
            std::memcpy(&bytes, block, sizeof bytes);
            block += length_bytes;
        }
        cut_short_ = bytes > call_.in_bytes;
        if (!cut_short_) copy_from(call_.in, block, bytes);
        return true;
    }
    bool take_lent(std::size_t bytes) {
        const std::byte* const blocks = borrow(call_.root, bytes * std::size_t(size()));
        if (blocks == nullptr) return false;
        cut_short_ = bytes > call_.in_bytes;
        if (!cut_short_) std::memcpy(call_.in, blocks + bytes * std::size_t(member()), bytes);
        return transfers_ended();
    }
    bool take_message() {
        const core::Status* const status = arrived(0);
        if (status == nullptr) return false;
        cut_short_ = status->error == core::Error::truncated;
        return cut_short_ || received(0);
    }

    std::size_t posted_ = 0;  // messages
    bool kept_ = false;       // the root's own block is in place
    bool cut_short_ = false;  // this member's block is longer than the room for it
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::scatter

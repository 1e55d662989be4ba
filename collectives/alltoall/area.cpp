// SPDX-License-Identifier: BSD-3-Clause
// Every member leaves its blocks for the others, one after the other, and takes its own blocks from
// theirs. For uneven blocks, a table of their ends precedes them. A member whose blocks do not fit,
// or are sooner read from messages, sends them, and notes this in the area.
#include <cstdint>

#include "collectives/algorithm/through_area.h"
#include "collectives/alltoall/alltoall.h"

namespace torusmp::collectives::alltoall {
namespace {

class ByArea final : public AlgorithmOf<Arguments, ThroughArea> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        even_ = call_.in_blocks.is_even() && call_.out_blocks.is_even();
        begin_call(even_ ? Kind::alltoall : Kind::alltoallv);
        block_ = even_ ? call_.out_blocks.size(0) : 0;
        all_ = block_ * others();
        from_ = 0;
        if (const std::size_t own = call_.out_blocks.size(member()); own != 0)
            std::memcpy(call_.in + call_.in_blocks.offset(member()),
                        call_.out + call_.out_blocks.offset(member()), own);
    }

  private:
    using End = std::uint32_t;

    bool move() override {
        if (!has_left() && !(even_ ? leave_even() : leave_uneven())) return false;
        return (even_ ? take_even() : take_uneven()) && transfers_ended();
    }
    bool leave_even() {
        if (lends(Area::all, all_, block_) &&
            lend(Area::all, all_, {{call_.out, block_ * std::size_t(size())}}))
            return true;
        const bool by_messages = messages_pay(Area::all, all_, int(others()), block_);
        std::byte* const room = claim_for_all(by_messages ? 0 : all_);
        if (room == nullptr) return false;
        if (by_messages) {
            post_sends();
        } else {
            const std::size_t before = block_ * std::size_t(member());
            copy_into(room, call_.out, before);
            copy_into(room + before, call_.out + before + block_, all_ - before);
        }
        leave_for_all(by_messages ? all_ | sends : all_);
        return true;
    }
    bool take_even() {
        for (; from_ < size(); ++from_)
            if (from_ != member() &&
                !take_block({call_.in + call_.in_blocks.offset(from_), block_}))
                return false;
        return true;
    }
    bool take_block(core::Buffer into) {
        const Left left = left_where(from_, all_);
        if (left != Left::lent)
            return take(left, from_, all_, block_ * column(member(), from_), into);
        const std::byte* const blocks = borrow(from_, block_ * std::size_t(size()));
        if (blocks == nullptr) return false;
        std::memcpy(into.base, blocks + block_ * std::size_t(member()), block_);
        return true;
    }
    void post_sends() {
        for (int to = 0; to < size(); ++to) {
            const std::size_t bytes = call_.out_blocks.size(to);
            if (to != member() && bytes != 0)
                post_send(to, {call_.out + call_.out_blocks.offset(to), bytes});
        }
    }

    bool leave_uneven() {
        const Blocks& blocks = call_.out_blocks;
        const std::size_t all = table_bytes() + blocks.total(size()) - blocks.size(member());
        const bool by_messages =
            all > most_left() || messages_pay(Area::all, all, int(others()), all / others());
        std::byte* const room = claim_for_all(by_messages ? 0 : all);
        if (room == nullptr) return false;
        if (by_messages) {
            post_sends();
            leave_for_all(sends);
            return true;
        }
        std::size_t end = 0;
        for (int to = 0; to < size(); ++to) {
            if (to == member()) continue;
            const std::size_t bytes = blocks.size(to);
            const std::byte* const block = call_.out + blocks.offset(to);
            copy_into(room + table_bytes() + end, block, bytes);
            end += bytes;
            const auto end_here = End(end);
            std::memcpy(room + column(to, member()) * sizeof(End), &end_here, sizeof end_here);
        }
        leave_for_all(all);
        return true;
    }
    bool take_uneven() {
        for (; from_ < size(); ++from_) {
            if (from_ == member()) continue;
            const auto said = said_by(from_);
            if (!said) return false;
            const std::size_t bytes = call_.in_blocks.size(from_);
            std::byte* const to = call_.in + call_.in_blocks.offset(from_);
            if (*said == sends) {
                if (bytes != 0) post_receive(from_, {to, bytes});
                continue;
            }
            const std::byte* const left = contents_of(from_, *said);
            const std::size_t index = column(member(), from_);
            const std::size_t begin = index == 0 ? 0 : end_of(left, index - 1);
            const std::size_t found = end_of(left, index) - begin;
            if (found != bytes) {
                misfit(from_, found, bytes);
                return false;
            }
            copy_from(to, left + table_bytes() + begin, bytes);
        }
        return true;
    }

    std::size_t others() const { return std::size_t(size() - 1); }
    std::size_t table_bytes() const { return others() * sizeof(End); }
    static std::size_t end_of(const std::byte* left, std::size_t index) {
        End end = 0;
        std::memcpy(&end, left + index * sizeof end, sizeof end);
        return end;
    }

    bool even_ = true;
    std::size_t block_ = 0;  // of even blocks
    std::size_t all_ = 0;
    int from_ = 0;  // the member whose blocks come next
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::alltoall
